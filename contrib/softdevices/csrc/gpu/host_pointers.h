/* SPDX-License-Identifier: Apache-2.0 */
/* Read-only buffers over memory of the program that the runtime would work on a copy of. */
#ifndef SOFTGPU_HOST_POINTERS_H
#define SOFTGPU_HOST_POINTERS_H

#include "layer.h"

/* As clCreateBufferWithProperties, but that memory is used in place where Intel's driver does so.
 * `properties` may be NULL. */
cl_mem softgpu_make_buffer(cl_context context, const cl_mem_properties *properties,
                           cl_mem_flags flags, size_t size, void *host, cl_int *error);

/* Whether the program made `object` as read-only, and the runtime does not know it. */
bool softgpu_secretly_read_only(cl_mem object);

/* How many such objects live. */
SOFTGPU_EXPORT unsigned int softgpu_live_host_pointers(void);

#endif
