/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL functions that fail on request (../faults/faults.h): each of them stands before the
 * layer's own version, or the runtime's. */
#include "failing.h"

#include <string.h>

#include "../faults/faults.h"
#include "layer.h"

/* What stands behind: the layer's table, with the runtime's functions where it has none. */
static cl_icd_dispatch behind;

static bool fails(const char *function, cl_int *error)
{
    int status = softdevices_fault(function, CL_OUT_OF_RESOURCES);

    if (status)
        softgpu_set_error(error, status);
    return status != 0;
}

/* The functions of the dispatch table: those that give a status, and those that make something. */
#define STATUS(name, parameters, arguments)                                                        \
    static cl_int CL_API_CALL failing_##name parameters                                            \
    {                                                                                              \
        cl_int error;                                                                              \
        return fails(#name, &error) ? error : behind.name arguments;                               \
    }
#define MAKER(type, name, parameters, arguments)                                                   \
    static type CL_API_CALL failing_##name parameters                                              \
    {                                                                                              \
        return fails(#name, error) ? NULL : behind.name arguments;                                 \
    }
/* Those of extensions, which programs ask for by name, several threads at once. */
#define ASKED(name) __atomic_load_n(&behind_##name, __ATOMIC_ACQUIRE)
#define EXTENSION_STATUS(name, parameters, arguments)                                              \
    static cl_int(CL_API_CALL *behind_##name) parameters;                                          \
    static cl_int CL_API_CALL failing_##name parameters                                            \
    {                                                                                              \
        cl_int error;                                                                              \
        return fails(#name, &error) ? error : ASKED(name) arguments;                               \
    }
#define EXTENSION_MAKER(type, name, parameters, arguments)                                         \
    static type(CL_API_CALL *behind_##name) parameters;                                            \
    static type CL_API_CALL failing_##name parameters                                              \
    {                                                                                              \
        return fails(#name, error) ? NULL : ASKED(name) arguments;                                 \
    }

STATUS(clRetainMemObject, (cl_mem object), (object))
STATUS(clReleaseMemObject, (cl_mem object), (object))
STATUS(clGetMemObjectInfo,
       (cl_mem object, cl_mem_info name, size_t size, void *value, size_t *size_ret),
       (object, name, size, value, size_ret))
STATUS(clGetImageInfo,
       (cl_mem image, cl_image_info name, size_t size, void *value, size_t *size_ret),
       (image, name, size, value, size_ret))
STATUS(clGetContextInfo,
       (cl_context context, cl_context_info name, size_t size, void *value, size_t *size_ret),
       (context, name, size, value, size_ret))
STATUS(clGetCommandQueueInfo,
       (cl_command_queue queue, cl_command_queue_info name, size_t size, void *value,
        size_t *size_ret),
       (queue, name, size, value, size_ret))
STATUS(clGetDeviceInfo,
       (cl_device_id device, cl_device_info name, size_t size, void *value, size_t *size_ret),
       (device, name, size, value, size_ret))
STATUS(clGetSupportedImageFormats,
       (cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_uint count,
        cl_image_format *formats, cl_uint *formats_ret),
       (context, flags, type, count, formats, formats_ret))
STATUS(clRetainCommandQueue, (cl_command_queue queue), (queue))
STATUS(clReleaseCommandQueue, (cl_command_queue queue), (queue))
STATUS(clRetainContext, (cl_context context), (context))
STATUS(clReleaseContext, (cl_context context), (context))
STATUS(clFinish, (cl_command_queue queue), (queue))
STATUS(clFlush, (cl_command_queue queue), (queue))
STATUS(clWaitForEvents, (cl_uint count, const cl_event *events), (count, events))
STATUS(clEnqueueReadBuffer,
       (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
        void *to, cl_uint waits, const cl_event *wait_list, cl_event *event),
       (queue, buffer, blocking, offset, size, to, waits, wait_list, event))
STATUS(clEnqueueWriteBuffer,
       (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
        const void *from, cl_uint waits, const cl_event *wait_list, cl_event *event),
       (queue, buffer, blocking, offset, size, from, waits, wait_list, event))
STATUS(clEnqueueCopyBuffer,
       (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
        size_t size, cl_uint waits, const cl_event *wait_list, cl_event *event),
       (queue, from, to, from_offset, to_offset, size, waits, wait_list, event))
STATUS(clEnqueueUnmapMemObject,
       (cl_command_queue queue, cl_mem object, void *mapped, cl_uint waits,
        const cl_event *wait_list, cl_event *event),
       (queue, object, mapped, waits, wait_list, event))
STATUS(clEnqueueSVMMap,
       (cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *at, size_t size,
        cl_uint waits, const cl_event *wait_list, cl_event *event),
       (queue, blocking, flags, at, size, waits, wait_list, event))
STATUS(clEnqueueSVMUnmap,
       (cl_command_queue queue, void *at, cl_uint waits, const cl_event *wait_list,
        cl_event *event),
       (queue, at, waits, wait_list, event))
MAKER(cl_command_queue, clCreateCommandQueueWithProperties,
      (cl_context context, cl_device_id device, const cl_queue_properties *properties,
       cl_int *error),
      (context, device, properties, error))
MAKER(cl_command_queue, clCreateCommandQueue,
      (cl_context context, cl_device_id device, cl_command_queue_properties properties,
       cl_int *error),
      (context, device, properties, error))
MAKER(cl_mem, clCreateBuffer,
      (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error),
      (context, flags, size, host, error))
MAKER(cl_mem, clCreateSubBuffer,
      (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void *region,
       cl_int *error),
      (buffer, flags, type, region, error))
MAKER(cl_mem, clCreateImage,
      (cl_context context, cl_mem_flags flags, const cl_image_format *format,
       const cl_image_desc *description, void *host, cl_int *error),
      (context, flags, format, description, host, error))
MAKER(cl_mem, clCreateBufferWithProperties,
      (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t size,
       void *host, cl_int *error),
      (context, properties, flags, size, host, error))
MAKER(cl_mem, clCreateImageWithProperties,
      (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
       const cl_image_format *format, const cl_image_desc *description, void *host, cl_int *error),
      (context, properties, flags, format, description, host, error))
MAKER(void *, clEnqueueMapBuffer,
      (cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
       size_t size, cl_uint waits, const cl_event *wait_list, cl_event *event, cl_int *error),
      (queue, buffer, blocking, flags, offset, size, waits, wait_list, event, error))
MAKER(void *, clEnqueueMapImage,
      (cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
       const size_t *origin, const size_t *region, size_t *row_pitch, size_t *slice_pitch,
       cl_uint waits, const cl_event *wait_list, cl_event *event, cl_int *error),
      (queue, image, blocking, flags, origin, region, row_pitch, slice_pitch, waits, wait_list,
       event, error))
EXTENSION_STATUS(clEnqueueAcquireExternalMemObjectsKHR,
                 (cl_command_queue queue, cl_uint count, const cl_mem *objects, cl_uint waits,
                  const cl_event *wait_list, cl_event *event),
                 (queue, count, objects, waits, wait_list, event))
EXTENSION_STATUS(clEnqueueReleaseExternalMemObjectsKHR,
                 (cl_command_queue queue, cl_uint count, const cl_mem *objects, cl_uint waits,
                  const cl_event *wait_list, cl_event *event),
                 (queue, count, objects, waits, wait_list, event))
EXTENSION_STATUS(clEnqueueAcquireVA_APIMediaSurfacesINTEL,
                 (cl_command_queue queue, cl_uint count, const cl_mem *objects, cl_uint waits,
                  const cl_event *wait_list, cl_event *event),
                 (queue, count, objects, waits, wait_list, event))
EXTENSION_STATUS(clEnqueueReleaseVA_APIMediaSurfacesINTEL,
                 (cl_command_queue queue, cl_uint count, const cl_mem *objects, cl_uint waits,
                  const cl_event *wait_list, cl_event *event),
                 (queue, count, objects, waits, wait_list, event))
EXTENSION_STATUS(clMemFreeINTEL, (cl_context context, void *memory), (context, memory))
EXTENSION_STATUS(clMemBlockingFreeINTEL, (cl_context context, void *memory), (context, memory))
EXTENSION_STATUS(clGetMemAllocInfoINTEL,
                 (cl_context context, const void *memory, cl_uint name, size_t size, void *value,
                  size_t *size_ret),
                 (context, memory, name, size, value, size_ret))
EXTENSION_STATUS(clEnqueueMemcpyINTEL,
                 (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size,
                  cl_uint waits, const cl_event *wait_list, cl_event *event),
                 (queue, blocking, to, from, size, waits, wait_list, event))
EXTENSION_MAKER(cl_mem, clCreateFromVA_APIMediaSurfaceINTEL,
                (cl_context context, cl_mem_flags flags, unsigned int *surface, cl_uint plane,
                 cl_int *error),
                (context, flags, surface, plane, error))
EXTENSION_MAKER(void *, clHostMemAllocINTEL,
                (cl_context context, const cl_ulong *properties, size_t size, cl_uint alignment,
                 cl_int *error),
                (context, properties, size, alignment, error))
EXTENSION_MAKER(void *, clDeviceMemAllocINTEL,
                (cl_context context, cl_device_id device, const cl_ulong *properties, size_t size,
                 cl_uint alignment, cl_int *error),
                (context, device, properties, size, alignment, error))
EXTENSION_MAKER(void *, clSharedMemAllocINTEL,
                (cl_context context, cl_device_id device, const cl_ulong *properties, size_t size,
                 cl_uint alignment, cl_int *error),
                (context, device, properties, size, alignment, error))

/* The layer's version, or the runtime's, and in its place the one that fails. */
#define PUT(name)                                                                                  \
    do {                                                                                           \
        behind.name = table->name ? table->name : below->name;                                     \
        if (behind.name)                                                                           \
            table->name = failing_##name;                                                          \
    } while (0)

void softgpu_failing_init(cl_icd_dispatch *table, const cl_icd_dispatch *below)
{
    PUT(clRetainMemObject);
    PUT(clReleaseMemObject);
    PUT(clGetMemObjectInfo);
    PUT(clGetImageInfo);
    PUT(clGetContextInfo);
    PUT(clGetCommandQueueInfo);
    PUT(clGetDeviceInfo);
    PUT(clGetSupportedImageFormats);
    PUT(clRetainCommandQueue);
    PUT(clReleaseCommandQueue);
    PUT(clRetainContext);
    PUT(clReleaseContext);
    PUT(clFinish);
    PUT(clFlush);
    PUT(clWaitForEvents);
    PUT(clEnqueueReadBuffer);
    PUT(clEnqueueWriteBuffer);
    PUT(clEnqueueCopyBuffer);
    PUT(clEnqueueUnmapMemObject);
    PUT(clEnqueueSVMMap);
    PUT(clEnqueueSVMUnmap);
    PUT(clCreateCommandQueueWithProperties);
    PUT(clCreateCommandQueue);
    PUT(clCreateBuffer);
    PUT(clCreateSubBuffer);
    PUT(clCreateImage);
    PUT(clCreateBufferWithProperties);
    PUT(clCreateImageWithProperties);
    PUT(clEnqueueMapBuffer);
    PUT(clEnqueueMapImage);
}

#define ANSWER(which)                                                                              \
    do {                                                                                           \
        if (strcmp(name, #which) == 0) {                                                           \
            __atomic_store_n((void **)&behind_##which, function, __ATOMIC_RELEASE);                \
            return (void *)failing_##which;                                                        \
        }                                                                                          \
    } while (0)

void *softgpu_failing_extension(const char *name, void *function)
{
    if (!name || !function)
        return function;
    /* One that is in the table, too. */
    if (strcmp(name, "clCreateBufferWithProperties") == 0)
        return (void *)failing_clCreateBufferWithProperties;
    ANSWER(clEnqueueAcquireExternalMemObjectsKHR);
    ANSWER(clEnqueueReleaseExternalMemObjectsKHR);
    ANSWER(clEnqueueAcquireVA_APIMediaSurfacesINTEL);
    ANSWER(clEnqueueReleaseVA_APIMediaSurfacesINTEL);
    ANSWER(clMemFreeINTEL);
    ANSWER(clMemBlockingFreeINTEL);
    ANSWER(clGetMemAllocInfoINTEL);
    ANSWER(clEnqueueMemcpyINTEL);
    ANSWER(clCreateFromVA_APIMediaSurfaceINTEL);
    ANSWER(clHostMemAllocINTEL);
    ANSWER(clDeviceMemAllocINTEL);
    ANSWER(clSharedMemAllocINTEL);
    return function;
}
