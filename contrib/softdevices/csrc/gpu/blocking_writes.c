/* SPDX-License-Identifier: Apache-2.0 */
/* A blocking write returns when its data was copied out of the program's memory; the runtime's
 * returns before the data is where it was written to. Every other queue or API then reads old
 * bytes, about every fourth time. Drivers of GPUs end the write first, and OpenVINO relies on it.
 * So the write is awaited
 * here, and not by clFinish: in a queue out of order other commands may wait for something that
 * this thread does later.
 *
 * SOFTGPU_QUIRK_EARLY_WRITES=1 leaves the runtime as it is, so that a test can show that a program
 * waits where it has to. */
#include <stdlib.h>
#include <string.h>

#include "hooks.h"
#include "trace.h"
#include "waits.h"

static bool early_writes;

void softgpu_blocking_writes_init(void)
{
    const char *wish = getenv("SOFTGPU_QUIRK_EARLY_WRITES");
    early_writes = wish && strcmp(wish, "1") == 0;
}

cl_int CL_API_CALL softgpu_write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                        size_t offset, size_t size, const void *source,
                                        cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    cl_event own = NULL;
    cl_int result;

    softgpu_trace("write %zu bytes to buffer %p%s", size, (void *)buffer,
                  blocking ? ", blocking" : "");
    if (!blocking || early_writes)
        return softgpu_below.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, source,
                                                  waits, wait_list, event);
    result = softgpu_below.clEnqueueWriteBuffer(queue, buffer, CL_FALSE, offset, size, source,
                                                waits, wait_list, &own);
    return softgpu_await(result, own, event);
}

cl_int CL_API_CALL softgpu_write_buffer_rect(cl_command_queue queue, cl_mem buffer,
                                             cl_bool blocking, const size_t *buffer_origin,
                                             const size_t *host_origin, const size_t *region,
                                             size_t buffer_row_pitch, size_t buffer_slice_pitch,
                                             size_t host_row_pitch, size_t host_slice_pitch,
                                             const void *source, cl_uint waits,
                                             const cl_event *wait_list, cl_event *event)
{
    cl_event own = NULL;
    cl_int result;

    if (!blocking || early_writes)
        return softgpu_below.clEnqueueWriteBufferRect(
            queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row_pitch,
            buffer_slice_pitch, host_row_pitch, host_slice_pitch, source, waits, wait_list, event);
    result = softgpu_below.clEnqueueWriteBufferRect(
        queue, buffer, CL_FALSE, buffer_origin, host_origin, region, buffer_row_pitch,
        buffer_slice_pitch, host_row_pitch, host_slice_pitch, source, waits, wait_list, &own);
    return softgpu_await(result, own, event);
}

cl_int CL_API_CALL softgpu_write_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                       const size_t *origin, const size_t *region,
                                       size_t row_pitch, size_t slice_pitch, const void *source,
                                       cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    cl_event own = NULL;
    cl_int result;

    if (!blocking || early_writes)
        return softgpu_below.clEnqueueWriteImage(queue, image, blocking, origin, region, row_pitch,
                                                 slice_pitch, source, waits, wait_list, event);
    result = softgpu_below.clEnqueueWriteImage(queue, image, CL_FALSE, origin, region, row_pitch,
                                               slice_pitch, source, waits, wait_list, &own);
    return softgpu_await(result, own, event);
}
