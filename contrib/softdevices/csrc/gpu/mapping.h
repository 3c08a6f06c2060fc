/* SPDX-License-Identifier: Apache-2.0 */
/* The memory behind a file descriptor, mapped for the CPU. */
#ifndef SOFTGPU_MAPPING_H
#define SOFTGPU_MAPPING_H

#include "layer.h"

/* Maps the first `size` bytes; the descriptor stays the caller's. NULL with CL_INVALID_BUFFER_SIZE
 * if it has fewer, and with CL_INVALID_PROPERTY if it cannot be mapped. */
void *softgpu_map_fd(int fd, size_t size, cl_int *error);

#endif
