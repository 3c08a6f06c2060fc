/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samebytes' software CUDA driver: libcuda.so.1 for memory, streams and events. Its devices are the
 * CPU, and it runs no kernels.
 *
 * The environment is read once, when the library is first used:
 *   SOFTCUDA_DEVICES          how many devices there are, 1 to 8; 2 by default
 *   SOFTCUDA_MEMORY           bytes of memory of each device; 4 GiB by default
 *   SOFTCUDA_WAITS=1          calls that make, register or free memory return when the context's
 *                             work is done; NVIDIA's 580 does where it frees or unregisters
 *   SOFTCUDA_PAGEABLE=1       the devices read pageable memory of the host where it lies
 *   SOFTCUDA_DMA_BUF_MMAP=1   the devices say that the CPU can map DMA-BUFs of their memory
 *   SOFTCUDA_DMA_BUF_IMPORT=1 descriptors can be imported as external memory
 * Without the last three it is as data centre GPUs of the Hopper family are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { MAX_DEVICES = 8 };

struct config {
    int devices;
    size_t memory;
    bool pageable;
    bool dma_buf_mmap;
    bool dma_buf_import;
    bool waits;
};

const struct config *config(void);
