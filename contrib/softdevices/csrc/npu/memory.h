/* SPDX-License-Identifier: Apache-2.0 */
/*
 * USM allocations. All three kinds are host memory here.
 *
 * As with Intel's Linux NPU driver (intel/linux-npu-driver, level_zero_driver/source/memory.cpp):
 *  - only the first structure of a pNext chain is looked at;
 *  - an fd can be exported of an allocation that was made with an export descriptor whose flags are
 *    exactly DMA_BUF, or that was itself imported; else ZE_RESULT_ERROR_NOT_AVAILABLE;
 *  - each export gives a new fd, which belongs to the caller; an imported fd stays the caller's;
 *  - an import ignores the requested size and maps the whole buffer behind the fd;
 *  - host memory that lies in an allocation or an earlier import cannot be imported (again);
 *  - there are no IPC handles.
 * Ours differs in what an fd may be: any that can be mapped shared (a memfd, a file, a DMA-BUF),
 * since few kernels of test machines can make DMA-BUFs.
 */
#pragma once

#include "allocation.h"

/*
 * Keep the allocation that holds [pointer, pointer + size) mapped until allocation_unpin(), so that
 * a zeMemFree() during a submission is an error of that submission and not a crash. NULL if there
 * is none, or if it ends too early.
 */
struct allocation *memory_pin(struct context *context, const void *pointer, size_t size);

/* Whether the device of `context` may touch the range. */
bool memory_is_known(struct context *context, const void *pointer, size_t size);

void memory_free_all(struct context *context);
uint64_t memory_allocated(struct context *context);
