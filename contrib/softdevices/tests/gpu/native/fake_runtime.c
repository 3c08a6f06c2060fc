/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    cl_int error = CL_SUCCESS;

    (void)queue;
    (void)waits;
    (void)wait_list;
    if (event) {
        *event = (cl_event)make(&error);
        if (*event)
            ((struct object *)*event)->program = &ended;
    }
    return error;
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
    cl_command_queue queue = (cl_command_queue)&ended;
    cl_context context = ((struct object *)event)->user;

    if (name == CL_EVENT_COMMAND_QUEUE)
        return softgpu_answer(&queue, sizeof queue, size, value, size_ret);
    if (name == CL_EVENT_CONTEXT)
        return softgpu_answer(&context, sizeof context, size, value, size_ret);
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

/* Waits. The runtime's stand still if two threads are in them, so here that is an error. */
static atomic_uint waiting;
atomic_uint slept;

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

static void wait_here(void)
{
    CHECK(atomic_fetch_add(&waiting, 1) == 0);
    usleep(100);
    atomic_fetch_sub(&waiting, 1);
}

static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *events)
{
    CHECK(count && events);
    wait_here();
    return CL_SUCCESS;
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    (void)queue;
    wait_here();
    return CL_SUCCESS;
}

cl_int CL_API_CALL blocking_free(cl_context context, void *memory)
{
    (void)context;
    (void)memory;
    wait_here();
    return CL_SUCCESS;
}

struct call {
    cl_event event;
    void(CL_CALLBACK *function)(cl_event, cl_int, void *);
    void *user;
};

static void *call_back(void *argument)
{
    struct call call = *(struct call *)argument;

    free(argument);
    usleep(100);
    atomic_fetch_add(&slept, 1);
    call.function(call.event, ((struct object *)call.event)->flags ? -5 : CL_COMPLETE, call.user);
    return NULL;
}

static cl_int CL_API_CALL set_event_callback(cl_event event, cl_int status,
                                             void(CL_CALLBACK *function)(cl_event, cl_int, void *),
                                             void *user)
{
    struct call *call = malloc(sizeof *call);
    pthread_t thread;

    CHECK(call && status == CL_COMPLETE);
    if (callbacks_fail) {
        free(call);
        return CL_OUT_OF_HOST_MEMORY;
    }
    *call = (struct call){event, function, user};
    CHECK(pthread_create(&thread, NULL, call_back, call) == 0);
    CHECK(pthread_detach(thread) == 0);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                      size_t offset, size_t size, void *target, cl_uint waits,
                                      const cl_event *wait_list, cl_event *event)
{
    (void)buffer;
    (void)offset;
    (void)size;
    (void)target;
    CHECK(!blocking && event);
    return marker(queue, waits, wait_list, event);
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                       size_t offset, size_t size, const void *source,
                                       cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    return read_buffer(queue, buffer, blocking, offset, size, (void *)source, waits, wait_list,
                       event);
}

static cl_int CL_API_CALL read_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                    const size_t *buffer_origin, const size_t *host_origin,
                                    const size_t *region, size_t buffer_row, size_t buffer_slice,
                                    size_t host_row, size_t host_slice, void *target,
                                    cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    CHECK(!buffer_origin && !host_origin && !region);
    return read_buffer(queue, buffer, blocking, buffer_row + buffer_slice, host_row + host_slice,
                       target, waits, wait_list, event);
}

static cl_int CL_API_CALL write_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     const size_t *buffer_origin, const size_t *host_origin,
                                     const size_t *region, size_t buffer_row, size_t buffer_slice,
                                     size_t host_row, size_t host_slice, const void *source,
                                     cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    return read_rect(queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row,
                     buffer_slice, host_row, host_slice, (void *)source, waits, wait_list, event);
}

static cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                     const size_t *origin, const size_t *region, size_t row,
                                     size_t slice, void *target, cl_uint waits,
                                     const cl_event *wait_list, cl_event *event)
{
    CHECK(!origin && !region);
    return read_buffer(queue, image, blocking, row, slice, target, waits, wait_list, event);
}

static cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                      const size_t *origin, const size_t *region, size_t row,
                                      size_t slice, const void *source, cl_uint waits,
                                      const cl_event *wait_list, cl_event *event)
{
    return read_image(queue, image, blocking, origin, region, row, slice, (void *)source, waits,
                      wait_list, event);
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                    cl_map_flags flags, size_t offset, size_t size, cl_uint waits,
                                    const cl_event *wait_list, cl_event *event, cl_int *error)
{
    softgpu_set_error(error, read_buffer(queue, buffer, blocking, offset + flags, size, NULL,
                                         waits, wait_list, event));
    return *event ? &ended : NULL;
}

static void *CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                   cl_map_flags flags, const size_t *origin, const size_t *region,
                                   size_t *row, size_t *slice, cl_uint waits,
                                   const cl_event *wait_list, cl_event *event, cl_int *error)
{
    CHECK(!origin && !region && !row && !slice);
    return map_buffer(queue, image, blocking, flags, 0, 0, waits, wait_list, event, error);
}

cl_int CL_API_CALL svm_memcpy(cl_command_queue queue, cl_bool blocking, void *target,
                              const void *source, size_t size, cl_uint waits,
                              const cl_event *wait_list, cl_event *event)
{
    return write_buffer(queue, target, blocking, 0, size, source, waits, wait_list, event);
}

static cl_int CL_API_CALL svm_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags,
                                  void *memory, size_t size, cl_uint waits,
                                  const cl_event *wait_list, cl_event *event)
{
    return read_buffer(queue, memory, blocking, flags, size, NULL, waits, wait_list, event);
}

static void *CL_API_CALL get_extension(cl_platform_id platform, const char *name)
{
    (void)platform;
    if (strcmp(name, "clEnqueueMemcpyINTEL") == 0)
        return (void *)svm_memcpy;
    return strcmp(name, "clMemBlockingFreeINTEL") == 0 ? (void *)blocking_free : NULL;
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
    .clFlush = flush,
    .clWaitForEvents = wait_for_events,
    .clSetEventCallback = set_event_callback,
    .clEnqueueReadBuffer = read_buffer,
    .clEnqueueReadBufferRect = read_rect,
    .clEnqueueReadImage = read_image,
    .clEnqueueWriteBuffer = write_buffer,
    .clEnqueueWriteBufferRect = write_rect,
    .clEnqueueWriteImage = write_image,
    .clEnqueueMapBuffer = map_buffer,
    .clEnqueueMapImage = map_image,
    .clEnqueueSVMMemcpy = svm_memcpy,
    .clEnqueueSVMMap = svm_map,
    .clGetExtensionFunctionAddressForPlatform = get_extension,
};
