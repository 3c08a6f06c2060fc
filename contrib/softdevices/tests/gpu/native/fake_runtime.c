/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../csrc/gpu/hooks.h"
#include "../../../csrc/gpu/va_constants.h"

void check(bool right, const char *what, const char *file, int line)
{
    if (right)
        return;
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    exit(1);
}

bool callbacks_fail, creation_fails;

static struct object *make(cl_int *error)
{
    struct object *made = creation_fails ? NULL : calloc(1, sizeof *made);

    softgpu_set_error(error, made ? CL_SUCCESS : CL_OUT_OF_RESOURCES);
    if (made)
        made->references = 1;
    return made;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size,
                                        void *host, cl_int *error)
{
    struct object *made;

    (void)context;
    CHECK(flags & CL_MEM_USE_HOST_PTR);
    if (!creation_fails)
        memset(host, 7, size);
    made = make(error);
    if (made)
        made->flags = flags;
    return (cl_mem)made;
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *region,
                                            cl_int *error)
{
    struct object *made = make(error);

    (void)type;
    (void)region;
    made->flags = flags ? flags : ((struct object *)buffer)->flags;
    return (cl_mem)made;
}

static cl_int CL_API_CALL get_mem_info(cl_mem object, cl_mem_info name, size_t size, void *value,
                                       size_t *size_ret)
{
    CHECK(name == CL_MEM_FLAGS);
    return softgpu_answer(&((struct object *)object)->flags, sizeof(cl_mem_flags), size, value,
                          size_ret);
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags,
                                       const cl_image_format *format,
                                       const cl_image_desc *description, void *host, cl_int *error)
{
    (void)context;
    (void)format;
    CHECK(flags & CL_MEM_USE_HOST_PTR);
    if (!creation_fails)
        memset(host, 9, description->image_row_pitch * description->image_height);
    return (cl_mem)make(error);
}

cl_int CL_API_CALL release_mem(cl_mem handle)
{
    struct object *object = (struct object *)handle;

    if (--object->references == 0) {
        if (object->mem_gone)
            object->mem_gone(handle, object->user);
        free(object);
    }
    return CL_SUCCESS;
}

static cl_int CL_API_CALL on_mem_gone(cl_mem handle, void(CL_CALLBACK *gone)(cl_mem, void *),
                                      void *user)
{
    struct object *object = (struct object *)handle;

    if (callbacks_fail)
        return CL_OUT_OF_HOST_MEMORY;
    object->mem_gone = gone;
    object->user = user;
    return CL_SUCCESS;
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices,
                                             softgpu_context_notify notify, void *user,
                                             cl_int *error)
{
    (void)count;
    (void)devices;
    (void)notify;
    (void)user;
    for (size_t i = 0; properties && properties[i]; i += 2)
        CHECK(properties[i] != CL_CONTEXT_VA_API_DISPLAY_INTEL);
    return (cl_context)make(error);
}

cl_int CL_API_CALL release_context(cl_context handle)
{
    struct object *object = (struct object *)handle;

    if (--object->references == 0) {
        if (object->context_gone)
            object->context_gone(handle, object->user);
        free(object);
    }
    return CL_SUCCESS;
}

static cl_int CL_API_CALL on_context_gone(cl_context handle,
                                          void(CL_CALLBACK *gone)(cl_context, void *), void *user)
{
    struct object *object = (struct object *)handle;

    if (callbacks_fail)
        return CL_OUT_OF_HOST_MEMORY;
    object->context_gone = gone;
    object->user = user;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t size,
                                          void *value, size_t *size_ret)
{
    static const char extensions[] = " cl_khr_fp64  cl_khr_subgroups cl_khr_fp16 ";
    const cl_device_type cpu = CL_DEVICE_TYPE_CPU;

    (void)device;
    if (name == CL_DEVICE_TYPE)
        return softgpu_answer(&cpu, sizeof cpu, size, value, size_ret);
    if (name == CL_DEVICE_EXTENSIONS)
        return softgpu_answer(extensions, sizeof extensions, size, value, size_ret);
    return CL_INVALID_VALUE;
}

static cl_int CL_API_CALL marker(cl_command_queue queue, cl_uint waits, const cl_event *wait_list,
                                 cl_event *event)
{
    (void)queue;
    (void)waits;
    (void)wait_list;
    (void)event;
    return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *error)
{
    struct object *kernel = make(error);

    (void)name;
    if (kernel)
        kernel->program = (struct object *)program;
    return (cl_kernel)kernel;
}

static cl_int CL_API_CALL get_kernel_info(cl_kernel handle, cl_kernel_info name, size_t size,
                                          void *value, size_t *size_ret)
{
    struct object *kernel = (struct object *)handle;

    if (name == CL_KERNEL_PROGRAM)
        return softgpu_answer(&kernel->program, sizeof kernel->program, size, value, size_ret);
    return softgpu_answer(&kernel->references, sizeof kernel->references, size, value, size_ret);
}

static cl_int CL_API_CALL release_kernel(cl_kernel handle)
{
    struct object *kernel = (struct object *)handle;

    if (--kernel->references == 0)
        free(kernel);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL retain_program(cl_program program)
{
    ((struct object *)program)->references++;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL release_program(cl_program program)
{
    ((struct object *)program)->references--;
    return CL_SUCCESS;
}

/* A queue is an object whose flags are its properties. An event of a kernel is one whose program says
 * whether it has ended. */
struct object ended;
cl_uint last_waits;
cl_event last_wait_list[8];

static cl_int CL_API_CALL get_queue_info(cl_command_queue handle, cl_command_queue_info name,
                                         size_t size, void *value, size_t *size_ret)
{
    struct object *queue = (struct object *)handle;

    if (name == CL_QUEUE_PROPERTIES)
        return softgpu_answer(&queue->flags, sizeof queue->flags, size, value, size_ret);
    return softgpu_answer(&queue->references, sizeof queue->references, size, value, size_ret);
}

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
    ((struct object *)handle)->references--;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info name, size_t size,
                                         void *value, size_t *size_ret)
{
    cl_int status = ((struct object *)event)->program == &ended ? CL_COMPLETE : CL_RUNNING;

    CHECK(name == CL_EVENT_COMMAND_EXECUTION_STATUS);
    return softgpu_answer(&status, sizeof status, size, value, size_ret);
}

static cl_int CL_API_CALL retain_event(cl_event event)
{
    ((struct object *)event)->references++;
    return CL_SUCCESS;
}

cl_int CL_API_CALL release_event(cl_event event)
{
    if (--((struct object *)event)->references == 0)
        free(event);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel,
                                         cl_uint dimensions, const size_t *offset,
                                         const size_t *global_size, const size_t *local_size,
                                         cl_uint waits, const cl_event *wait_list,
                                         cl_event *event)
{
    cl_int error;

    (void)queue;
    (void)kernel;
    (void)dimensions;
    (void)offset;
    (void)global_size;
    (void)local_size;
    CHECK((waits != 0) == (wait_list != NULL) && waits <= 8);
    last_waits = waits;
    for (cl_uint i = 0; i < waits; i++)
        last_wait_list[i] = wait_list[i];
    if (!event)
        return CL_SUCCESS;
    *event = (cl_event)make(&error);
    return error;
}

static cl_int CL_API_CALL enqueue_barrier(cl_command_queue queue, cl_uint waits,
                                          const cl_event *wait_list, cl_event *event)
{
    return marker(queue, waits, wait_list, event);
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

const cl_icd_dispatch fake_runtime = {
    .clCreateBuffer = create_buffer,
    .clCreateSubBuffer = create_sub_buffer,
    .clGetMemObjectInfo = get_mem_info,
    .clCreateImage = create_image,
    .clReleaseMemObject = release_mem,
    .clSetMemObjectDestructorCallback = on_mem_gone,
    .clCreateContext = create_context,
    .clReleaseContext = release_context,
    .clSetContextDestructorCallback = on_context_gone,
    .clGetDeviceInfo = get_device_info,
    .clEnqueueMarkerWithWaitList = marker,
    .clCreateKernel = create_kernel,
    .clGetKernelInfo = get_kernel_info,
    .clReleaseKernel = release_kernel,
    .clRetainProgram = retain_program,
    .clReleaseProgram = release_program,
    .clGetCommandQueueInfo = get_queue_info,
    .clReleaseCommandQueue = release_queue,
    .clGetEventInfo = get_event_info,
    .clRetainEvent = retain_event,
    .clReleaseEvent = release_event,
    .clEnqueueNDRangeKernel = enqueue_kernel,
    .clEnqueueBarrierWithWaitList = enqueue_barrier,
    .clFinish = finish,
};
