/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking commands are enqueued without a wait of the runtime's, and awaited here: waits.c says
 * why. Blocking writes have a module of their own, blocking_writes.c. */
#include <stdatomic.h>
#include <string.h>

#include "hooks.h"
#include "waits.h"

/* The runtime's own of cl_intel_unified_shared_memory, which have no place in its table. */
typedef cl_int(CL_API_CALL *usm_memcpy_function)(cl_command_queue, cl_bool, void *, const void *,
                                                 size_t, cl_uint, const cl_event *, cl_event *);
typedef cl_int(CL_API_CALL *blocking_free_function)(cl_context, void *);
static _Atomic(usm_memcpy_function) usm_memcpy_below;
static _Atomic(blocking_free_function) blocking_free_below;

cl_int CL_API_CALL softgpu_read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                       size_t offset, size_t size, void *target, cl_uint waits,
                                       const cl_event *wait_list, cl_event *event)
{
    cl_event own = NULL;
    cl_int result =
        softgpu_below.clEnqueueReadBuffer(queue, buffer, CL_FALSE, offset, size, target, waits,
                                          wait_list, blocking ? &own : event);

    return blocking ? softgpu_await(result, own, event) : result;
}

cl_int CL_API_CALL softgpu_read_buffer_rect(cl_command_queue queue, cl_mem buffer,
                                            cl_bool blocking, const size_t *buffer_origin,
                                            const size_t *host_origin, const size_t *region,
                                            size_t buffer_row_pitch, size_t buffer_slice_pitch,
                                            size_t host_row_pitch, size_t host_slice_pitch,
                                            void *target, cl_uint waits,
                                            const cl_event *wait_list, cl_event *event)
{
    cl_event own = NULL;
    cl_int result = softgpu_below.clEnqueueReadBufferRect(
        queue, buffer, CL_FALSE, buffer_origin, host_origin, region, buffer_row_pitch,
        buffer_slice_pitch, host_row_pitch, host_slice_pitch, target, waits, wait_list,
        blocking ? &own : event);

    return blocking ? softgpu_await(result, own, event) : result;
}

cl_int CL_API_CALL softgpu_read_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                      const size_t *origin, const size_t *region, size_t row_pitch,
                                      size_t slice_pitch, void *target, cl_uint waits,
                                      const cl_event *wait_list, cl_event *event)
{
    cl_event own = NULL;
    cl_int result = softgpu_below.clEnqueueReadImage(queue, image, CL_FALSE, origin, region,
                                                     row_pitch, slice_pitch, target, waits,
                                                     wait_list, blocking ? &own : event);

    return blocking ? softgpu_await(result, own, event) : result;
}

/* What a blocking map gives: its place, once the bytes are there. */
static void *await_map(void *place, cl_event own, cl_event *event, cl_int *error)
{
    cl_int result = place ? softgpu_await(CL_SUCCESS, own, event) : CL_SUCCESS;

    if (result == CL_SUCCESS)
        return place;
    softgpu_set_error(error, result);
    return NULL;
}

void *CL_API_CALL softgpu_map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     cl_map_flags flags, size_t offset, size_t size, cl_uint waits,
                                     const cl_event *wait_list, cl_event *event, cl_int *error)
{
    cl_event own = NULL;
    void *place =
        softgpu_below.clEnqueueMapBuffer(queue, buffer, CL_FALSE, flags, offset, size, waits,
                                         wait_list, blocking ? &own : event, error);

    return blocking ? await_map(place, own, event, error) : place;
}

void *CL_API_CALL softgpu_map_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                    cl_map_flags flags, const size_t *origin,
                                    const size_t *region, size_t *row_pitch, size_t *slice_pitch,
                                    cl_uint waits, const cl_event *wait_list, cl_event *event,
                                    cl_int *error)
{
    cl_event own = NULL;
    void *place = softgpu_below.clEnqueueMapImage(queue, image, CL_FALSE, flags, origin, region,
                                                  row_pitch, slice_pitch, waits, wait_list,
                                                  blocking ? &own : event, error);

    return blocking ? await_map(place, own, event, error) : place;
}

cl_int CL_API_CALL softgpu_svm_memcpy(cl_command_queue queue, cl_bool blocking, void *target,
                                      const void *source, size_t size, cl_uint waits,
                                      const cl_event *wait_list, cl_event *event)
{
    cl_event own = NULL;
    cl_int result = softgpu_below.clEnqueueSVMMemcpy(queue, CL_FALSE, target, source, size, waits,
                                                     wait_list, blocking ? &own : event);

    return blocking ? softgpu_await(result, own, event) : result;
}

cl_int CL_API_CALL softgpu_svm_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags,
                                   void *memory, size_t size, cl_uint waits,
                                   const cl_event *wait_list, cl_event *event)
{
    cl_event own = NULL;
    cl_int result = softgpu_below.clEnqueueSVMMap(queue, CL_FALSE, flags, memory, size, waits,
                                                  wait_list, blocking ? &own : event);

    return blocking ? softgpu_await(result, own, event) : result;
}

static cl_int CL_API_CALL usm_memcpy(cl_command_queue queue, cl_bool blocking, void *target,
                                     const void *source, size_t size, cl_uint waits,
                                     const cl_event *wait_list, cl_event *event)
{
    cl_event own = NULL;
    cl_int result = atomic_load(&usm_memcpy_below)(queue, CL_FALSE, target, source, size, waits,
                                                   wait_list, blocking ? &own : event);

    return blocking ? softgpu_await(result, own, event) : result;
}

/* It waits for commands that only the runtime knows. */
static cl_int CL_API_CALL blocking_free(cl_context context, void *memory)
{
    cl_int result;

    softgpu_enter_arena();
    result = atomic_load(&blocking_free_below)(context, memory);
    softgpu_leave_arena();
    return result;
}

void *softgpu_blocking_extension(const char *name, void *below)
{
    if (!name || !below)
        return below;
    if (strcmp(name, "clEnqueueMemcpyINTEL") == 0) {
        atomic_store(&usm_memcpy_below, (usm_memcpy_function)below);
        return (void *)usm_memcpy;
    }
    if (strcmp(name, "clMemBlockingFreeINTEL") == 0) {
        atomic_store(&blocking_free_below, (blocking_free_function)below);
        return (void *)blocking_free;
    }
    return below;
}
