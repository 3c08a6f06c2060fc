/* SPDX-License-Identifier: Apache-2.0 */
/* cl_khr_external_memory with cl_khr_external_memory_dma_buf: buffers and images over the memory of
 * a file descriptor. Any descriptor that the CPU can map will do, so a memfd stands for a DMA-BUF
 * where the kernel makes none. The descriptor stays the program's, as with Intel's driver. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hooks.h"
#include "host_pointers.h"
#include "mapping.h"
#include "shared_memory.h"
#include "trace.h"

enum {
    /* CL_MEM_DEVICE_HANDLE_LIST_KHR of newer headers, CL_DEVICE_HANDLE_LIST_KHR of older. A list
     * of devices follows, ended by a zero. */
    DEVICE_HANDLE_LIST = 0x2051,
    /* CL_MEM_DEVICE_ID_INTEL of cl_intel_create_buffer_with_properties; OpenVINO gives it. */
    DEVICE_ID_INTEL = 0x10011,
};

/* The list of properties that a program gave, taken apart. */
struct import_request {
    bool wanted; /* memory is to be imported */
    int fd;
    size_t size; /* of the whole list, with the zero at its end, in bytes */
};

static cl_int parse(const cl_mem_properties *properties, struct import_request *request)
{
    const cl_mem_properties *at = properties;

    memset(request, 0, sizeof *request);
    if (!properties)
        return CL_SUCCESS;
    while (*at) {
        switch (*at) {
        case CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR:
            if (request->wanted)
                return CL_INVALID_PROPERTY; /* each property may be given once */
            request->wanted = true;
            request->fd = (int)at[1];
            at += 2;
            break;
        case DEVICE_HANDLE_LIST:
            /* There is one device, so there is nothing to choose. */
            for (at++; *at; at++)
                ;
            at++;
            break;
        case DEVICE_ID_INTEL:
            at += 2;
            break;
        default:
            return CL_INVALID_PROPERTY;
        }
    }
    request->size = (size_t)(at - properties + 1) * sizeof *properties;
    return CL_SUCCESS;
}

/* Maps `size` bytes of the descriptor, and keeps what the program asked for. */
static struct softgpu_shared *map_fd(const struct import_request *request,
                                     const cl_mem_properties *properties, size_t size,
                                     cl_int *error)
{
    struct softgpu_shared *shared = calloc(1, sizeof *shared);

    if (shared)
        shared->properties = malloc(request->size);
    if (!shared || !shared->properties) {
        free(shared);
        softgpu_set_error(error, CL_OUT_OF_HOST_MEMORY);
        return NULL;
    }
    memcpy(shared->properties, properties, request->size);
    shared->properties_size = request->size;
    shared->mapping_size = size;
    shared->mapping = softgpu_map_fd(request->fd, size, error);
    if (!shared->mapping) {
        free(shared->properties);
        free(shared);
        return NULL;
    }
    return shared;
}

/* The memory is the descriptor's: a host pointer would be a second one. */
static bool names_host_memory(cl_mem_flags flags, const void *host)
{
    const cl_mem_flags of_host =
        CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

    return host || (flags & of_host);
}

cl_mem CL_API_CALL softgpu_create_buffer_with_properties(cl_context context,
                                                         const cl_mem_properties *properties,
                                                         cl_mem_flags flags, size_t size,
                                                         void *host, cl_int *error)
{
    struct import_request request;
    struct softgpu_shared *shared;
    cl_int result = parse(properties, &request);
    cl_mem buffer;

    if (result == CL_SUCCESS && !request.wanted)
        return softgpu_make_buffer(context, properties, flags, size, host, error);
    if (result == CL_SUCCESS && names_host_memory(flags, host))
        result = CL_INVALID_VALUE;
    if (result != CL_SUCCESS) {
        softgpu_set_error(error, result);
        return NULL;
    }
    shared = map_fd(&request, properties, size, error);
    if (!shared)
        return NULL;
    buffer = softgpu_below.clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, size,
                                          shared->mapping, error);
    softgpu_trace("buffer %p of %zu bytes over descriptor %d", (void *)buffer, size, request.fd);
    if (!buffer) {
        softgpu_unshare(shared);
        return NULL;
    }
    return softgpu_share(buffer, shared, error);
}

/* How many bytes a 2-D image over a descriptor takes; 0 if it cannot be said. Only images whose
 * rows the program places itself are possible: a descriptor does not say how its memory is laid
 * out. */
static size_t image_bytes(const cl_image_desc *description)
{
    if (!description || description->image_type != CL_MEM_OBJECT_IMAGE2D ||
        !description->image_row_pitch || !description->image_height ||
        description->image_height > SIZE_MAX / description->image_row_pitch)
        return 0;
    return description->image_row_pitch * description->image_height;
}

cl_mem CL_API_CALL softgpu_create_image_with_properties(cl_context context,
                                                        const cl_mem_properties *properties,
                                                        cl_mem_flags flags,
                                                        const cl_image_format *format,
                                                        const cl_image_desc *description,
                                                        void *host, cl_int *error)
{
    struct import_request request;
    struct softgpu_shared *shared;
    cl_int result = parse(properties, &request);
    cl_mem image;

    if (result == CL_SUCCESS && !request.wanted)
        return softgpu_below.clCreateImageWithProperties(context, properties, flags, format,
                                                         description, host, error);
    if (result == CL_SUCCESS && names_host_memory(flags, host))
        result = CL_INVALID_VALUE;
    if (result == CL_SUCCESS && !image_bytes(description))
        result = CL_INVALID_IMAGE_DESCRIPTOR;
    if (result != CL_SUCCESS) {
        softgpu_set_error(error, result);
        return NULL;
    }
    shared = map_fd(&request, properties, image_bytes(description), error);
    if (!shared)
        return NULL;
    image = softgpu_below.clCreateImage(context, flags | CL_MEM_USE_HOST_PTR, format, description,
                                        shared->mapping, error);
    softgpu_trace("image %p over descriptor %d", (void *)image, request.fd);
    if (!image) {
        softgpu_unshare(shared);
        return NULL;
    }
    return softgpu_share(image, shared, error);
}

/* Memory changes hands in the order of the queue. For a CPU nothing is to be done then, except to
 * keep that order and to give an event. */
static cl_int change_hands(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                           cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    if (!count != !objects)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        struct softgpu_shared *shared = softgpu_shared_of(objects[i]);

        if (!shared || !shared->properties)
            return CL_INVALID_MEM_OBJECT;
    }
    return softgpu_below.clEnqueueMarkerWithWaitList(queue, waits, wait_list, event);
}

cl_int CL_API_CALL softgpu_acquire_external(cl_command_queue queue, cl_uint count,
                                            const cl_mem *objects, cl_uint waits,
                                            const cl_event *wait_list, cl_event *event)
{
    softgpu_trace("acquire %u external objects", count);
    return change_hands(queue, count, objects, waits, wait_list, event);
}

cl_int CL_API_CALL softgpu_release_external(cl_command_queue queue, cl_uint count,
                                            const cl_mem *objects, cl_uint waits,
                                            const cl_event *wait_list, cl_event *event)
{
    softgpu_trace("release %u external objects", count);
    return change_hands(queue, count, objects, waits, wait_list, event);
}
