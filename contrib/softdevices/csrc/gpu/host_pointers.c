/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of an integrated Intel GPU works on the program's own memory (CL_MEM_USE_HOST_PTR) if
 * its address and size are multiples of a cache line, 64 bytes. The CPU runtime does so at any
 * address, except for a read-only buffer that is not small: if its address is not a multiple of 128,
 * kernels and commands get a copy, yet mapping gives the program's pointer. Who shares such memory
 * without mapping it then sees old bytes.
 *
 * So the runtime does not know that such a buffer is read-only, which only a program that breaks
 * its promise can notice. Queries answer what the program gave. */
#include "host_pointers.h"

#include <stdatomic.h>
#include <stdint.h>

#include "handle_map.h"
#include "hooks.h"
#include "trace.h"

enum {
    CACHE_LINE = 64,
    RUNTIME_ALIGNMENT = 128, /* its CL_DEVICE_MEM_BASE_ADDR_ALIGN, in bytes */
};

/* A set: the records say nothing. */
static struct softgpu_map records = SOFTGPU_MAP_INIT;
static atomic_uint live;
static char present;

static bool is_to_be_fixed(cl_mem_flags flags, size_t size, const void *host)
{
    const cl_mem_flags meant = CL_MEM_USE_HOST_PTR | CL_MEM_READ_ONLY;
    const cl_mem_flags contrary = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY;
    uintptr_t address = (uintptr_t)host;

    return (flags & meant) == meant && !(flags & contrary) && size % CACHE_LINE == 0 &&
           address % CACHE_LINE == 0 && address % RUNTIME_ALIGNMENT != 0;
}

/* Called by the runtime when the last reference went and no command uses the memory any more. */
static void CL_CALLBACK forget(cl_mem object, void *user)
{
    (void)user;
    softgpu_map_take(&records, object);
    atomic_fetch_sub(&live, 1);
}

static cl_mem remember(cl_mem buffer, cl_int *error)
{
    if (!softgpu_map_put(&records, buffer, &present)) {
        softgpu_below.clReleaseMemObject(buffer);
        softgpu_set_error(error, CL_OUT_OF_HOST_MEMORY);
        return NULL;
    }
    atomic_fetch_add(&live, 1);
    if (softgpu_below.clSetMemObjectDestructorCallback(buffer, forget, NULL) != CL_SUCCESS) {
        forget(buffer, NULL);
        softgpu_below.clReleaseMemObject(buffer);
        softgpu_set_error(error, CL_OUT_OF_HOST_MEMORY);
        return NULL;
    }
    return buffer;
}

bool softgpu_secretly_read_only(cl_mem object)
{
    return softgpu_map_get(&records, object);
}

unsigned int softgpu_live_host_pointers(void)
{
    return atomic_load(&live);
}

cl_mem softgpu_make_buffer(cl_context context, const cl_mem_properties *properties,
                           cl_mem_flags flags, size_t size, void *host, cl_int *error)
{
    bool fix = is_to_be_fixed(flags, size, host);
    cl_mem buffer;

    if (fix)
        flags = (flags & ~(cl_mem_flags)CL_MEM_READ_ONLY) | CL_MEM_READ_WRITE;
    if (properties)
        buffer = softgpu_below.clCreateBufferWithProperties(context, properties, flags, size, host,
                                                            error);
    else
        buffer = softgpu_below.clCreateBuffer(context, flags, size, host, error);
    if (!fix || !buffer)
        return buffer;
    softgpu_trace("read-only buffer %p over %p is used in place", (void *)buffer, host);
    return remember(buffer, error);
}

cl_mem CL_API_CALL softgpu_create_buffer(cl_context context, cl_mem_flags flags, size_t size,
                                         void *host, cl_int *error)
{
    return softgpu_make_buffer(context, NULL, flags, size, host, error);
}

cl_mem CL_API_CALL softgpu_create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                             cl_buffer_create_type type, const void *region,
                                             cl_int *error)
{
    bool read_only = softgpu_secretly_read_only(buffer);
    cl_mem part;

    if (read_only && (flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY))) {
        softgpu_set_error(error, CL_INVALID_VALUE);
        return NULL;
    }
    /* With the flags of the whole, or the runtime copies. */
    if (read_only)
        flags &= ~(cl_mem_flags)CL_MEM_READ_ONLY;
    part = softgpu_below.clCreateSubBuffer(buffer, flags, type, region, error);
    return part && read_only ? remember(part, error) : part;
}
