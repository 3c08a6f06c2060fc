/* SPDX-License-Identifier: Apache-2.0 */
/* The layer over a runtime made of a few functions, so that sanitizers see every byte of it, and so
 * that the runtime can fail where the real one never does. Prints nothing when all is well. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Before the headers of OpenCL, since it says which version is meant. */
#include "../../../csrc/gpu/layer.h"

#include <CL/cl_layer.h>

#include "../../../csrc/gpu/contexts.h"
#include "../../../csrc/gpu/hooks.h"
#include "../../../csrc/gpu/host_pointers.h"
#include "../../../csrc/gpu/shared_memory.h"
#include "../../../csrc/gpu/va_constants.h"
#include "../../../csrc/gpu/waits.h"
#include "fake_libva.h"
#include "fake_runtime.h"

enum { SIZE = 4096, ROUNDS = 200, THREADS = 4 };

static const cl_icd_dispatch *layer;

static void start(void)
{
    const cl_uint count = sizeof fake_runtime / sizeof(void *);
    cl_uint ours = 0;

    CHECK(clInitLayer(count - 1, &fake_runtime, &ours, &layer) == CL_INVALID_VALUE);
    CHECK(clInitLayer(count, NULL, &ours, &layer) == CL_INVALID_VALUE);
    CHECK(clInitLayer(count, &fake_runtime, &ours, &layer) == CL_SUCCESS);
    CHECK(ours == count && layer);
}

static void extensions(void)
{
    char shown[256];
    size_t size;

    CHECK(layer->clGetDeviceInfo(NULL, CL_DEVICE_EXTENSIONS, sizeof shown, shown, &size) == 0);
    CHECK(size == strlen(shown) + 1);
    CHECK(strcmp(shown, "cl_khr_fp64 cl_khr_fp16 cl_khr_external_memory "
                        "cl_khr_external_memory_dma_buf cl_intel_va_api_media_sharing") == 0);
}

static cl_mem import(int fd, size_t size, cl_int *error)
{
    cl_mem_properties properties[] = {CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR,
                                      (cl_mem_properties)fd, 0};

    return layer->clCreateBufferWithProperties(NULL, properties, 0, size, NULL, error);
}

static void imports(int fd)
{
    cl_mem_properties held[3];
    cl_int error = 1;
    cl_mem made = import(fd, SIZE, &error);

    CHECK(made && error == CL_SUCCESS && softgpu_live_imports() == 1);
    CHECK(layer->clGetMemObjectInfo(made, CL_MEM_PROPERTIES, sizeof held, held, NULL) == 0);
    CHECK(held[1] == (cl_mem_properties)fd);
    CHECK(release_mem(made) == CL_SUCCESS && softgpu_live_imports() == 0);
    made = import(fd, SIZE, NULL); /* the place for the error may be missing */
    CHECK(made && release_mem(made) == CL_SUCCESS);
    CHECK(!import(fd, SIZE + 1, &error) && error == CL_INVALID_BUFFER_SIZE);
    creation_fails = true;
    CHECK(!import(fd, SIZE, &error) && error == CL_OUT_OF_RESOURCES);
    creation_fails = false;
    callbacks_fail = true;
    CHECK(!import(fd, SIZE, &error) && error == CL_OUT_OF_HOST_MEMORY);
    callbacks_fail = false;
    CHECK(softgpu_live_imports() == 0);
}

static cl_context context_of(void *display, cl_int *error)
{
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, 1, CL_CONTEXT_VA_API_DISPLAY_INTEL,
                                          (cl_context_properties)display, 0};

    return layer->clCreateContext(properties, 0, NULL, NULL, NULL, error);
}

/* A display with one surface of NV12, 64 x 32 pixels, over `fd`. */
static struct fake_display display_over(int fd)
{
    struct fake_display display = {
        .surface = 5,
        .descriptor = {.fourcc = 'N' | 'V' << 8 | '1' << 16 | (uint32_t)'2' << 24,
                       .width = 64,
                       .height = 32,
                       .num_objects = 1,
                       .objects = {{.fd = fd, .size = SIZE}},
                       .num_layers = 2,
                       .layers = {{.num_planes = 1, .pitch = {64}},
                                  {.num_planes = 1, .offset = {64 * 32}, .pitch = {64}}}},
    };

    return display;
}

static cl_int refusal(cl_context context, unsigned int surface, cl_uint plane)
{
    cl_int error = CL_SUCCESS;

    CHECK(!softgpu_create_from_va_surface(context, CL_MEM_READ_ONLY, &surface, plane, &error));
    CHECK(softgpu_live_imports() == 0);
    return error;
}

static void bad_surfaces(cl_context context, struct fake_display *display)
{
    CHECK(refusal(context, 6, 0) == CL_INVALID_VA_API_MEDIA_SURFACE_INTEL);
    CHECK(refusal(context, 5, 2) == CL_INVALID_VA_API_MEDIA_SURFACE_INTEL);
    creation_fails = true;
    CHECK(refusal(context, 5, 0) == CL_OUT_OF_RESOURCES);
    creation_fails = false;
    callbacks_fail = true;
    CHECK(refusal(context, 5, 0) == CL_OUT_OF_HOST_MEMORY);
    callbacks_fail = false;
    display->descriptor.layers[1].offset[0] = SIZE;
    CHECK(refusal(context, 5, 1) == CL_INVALID_BUFFER_SIZE);
    display->descriptor.layers[1].object_index[0] = 1;
    CHECK(refusal(context, 5, 1) == CL_INVALID_VA_API_MEDIA_SURFACE_INTEL);
    display->descriptor.objects[0].drm_format_modifier = UINT64_C(0x0100000000000002);
    CHECK(refusal(context, 5, 0) == CL_IMAGE_FORMAT_NOT_SUPPORTED);
    display->descriptor.fourcc++;
    CHECK(refusal(context, 5, 0) == CL_IMAGE_FORMAT_NOT_SUPPORTED);
}

static void surfaces(int fd)
{
    struct fake_display display = display_over(fd);
    cl_int error = 1;
    cl_context context = context_of(&display, &error);
    unsigned char bytes[2];
    cl_mem image;

    CHECK(softgpu_context_va_display(context) == &display);
    image = softgpu_create_from_va_surface(context, CL_MEM_READ_ONLY, &display.surface, 1, &error);
    CHECK(image && error == CL_SUCCESS && softgpu_live_imports() == 1);
    /* The second plane, not the first; from the start on and to the end. */
    CHECK(pread(fd, bytes, 2, 64 * 32 - 1) == 2 && bytes[0] != 9 && bytes[1] == 9);
    CHECK(pread(fd, bytes, 1, 64 * 48 - 1) == 1 && bytes[0] == 9);
    CHECK(softgpu_acquire_va(NULL, 1, &image, 0, NULL, NULL) == CL_SUCCESS && display.waits == 1);
    CHECK(softgpu_acquire_va(NULL, 1, &image, 0, NULL, NULL) ==
          CL_VA_API_MEDIA_SURFACE_ALREADY_ACQUIRED_INTEL);
    CHECK(softgpu_acquire_external(NULL, 1, &image, 0, NULL, NULL) == CL_INVALID_MEM_OBJECT);
    CHECK(softgpu_release_va(NULL, 1, &image, 0, NULL, NULL) == CL_SUCCESS && display.waits == 1);
    display.surface++; /* the old one is gone, with an image of it left */
    CHECK(softgpu_acquire_va(NULL, 1, &image, 0, NULL, NULL) == CL_OUT_OF_RESOURCES);
    display.surface--;
    CHECK(release_mem(image) == CL_SUCCESS && softgpu_live_imports() == 0);
    bad_surfaces(context, &display);
    release_context(context);
    callbacks_fail = true;
    CHECK(!context_of(&display, &error) && error == CL_OUT_OF_HOST_MEMORY);
    callbacks_fail = false;
}

static cl_mem over(void *host, size_t size, cl_int *error)
{
    return layer->clCreateBuffer(NULL, CL_MEM_USE_HOST_PTR | CL_MEM_READ_ONLY, size, host, error);
}

static cl_mem_flags flags_of(cl_mem object)
{
    cl_mem_flags flags = 0;

    CHECK(layer->clGetMemObjectInfo(object, CL_MEM_FLAGS, sizeof flags, &flags, NULL) == 0);
    return flags;
}

static void host_pointers(void)
{
    const cl_mem_flags given = CL_MEM_USE_HOST_PTR | CL_MEM_READ_ONLY;
    const cl_mem_flags below = CL_MEM_USE_HOST_PTR | CL_MEM_READ_WRITE;
    _Alignas(128) char memory[128 + 1024];
    cl_int error = 1;
    cl_mem buffer, part;

    for (int offset = 0; offset < 128; offset += 32) {
        buffer = over(memory + offset, 1024, &error);
        CHECK(buffer && error == CL_SUCCESS && flags_of(buffer) == given);
        CHECK(softgpu_live_host_pointers() == (offset == 64));
        CHECK(((struct object *)buffer)->flags == (offset == 64 ? below : given));
        release_mem(buffer);
    }
    buffer = over(memory + 64, 1023, NULL);
    CHECK(buffer && softgpu_live_host_pointers() == 0);
    release_mem(buffer);
    buffer = over(memory + 64, 1024, NULL);
    part = layer->clCreateSubBuffer(buffer, CL_MEM_READ_ONLY, 0, NULL, &error);
    CHECK(part && softgpu_live_host_pointers() == 2 && flags_of(part) == given);
    CHECK(((struct object *)part)->flags == below);
    CHECK(!layer->clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, 0, NULL, &error));
    CHECK(error == CL_INVALID_VALUE);
    release_mem(part);
    release_mem(buffer);
    callbacks_fail = true;
    CHECK(!over(memory + 64, 1024, &error) && error == CL_OUT_OF_HOST_MEMORY);
    callbacks_fail = false;
    CHECK(softgpu_live_host_pointers() == 0);
}

static void kernels(void)
{
    struct object program = {.references = 1};
    cl_kernel one = layer->clCreateKernel((cl_program)&program, "one", NULL);
    cl_kernel two = layer->clCreateKernel((cl_program)&program, "two", NULL);

    CHECK(program.references == 3);
    CHECK(layer->clReleaseKernel(one) == CL_SUCCESS && program.references == 2);
    CHECK(layer->clReleaseKernel(two) == CL_SUCCESS && program.references == 1);
}

static cl_event run(struct object *queue, cl_event waits_for)
{
    size_t one = 1;
    cl_event event = NULL;

    CHECK(layer->clEnqueueNDRangeKernel((cl_command_queue)queue, NULL, 1, NULL, &one, NULL,
                                        waits_for != NULL, waits_for ? &waits_for : NULL,
                                        &event) == CL_SUCCESS);
    return event;
}

static unsigned int references_to(cl_event event)
{
    return ((struct object *)event)->references;
}

static void event_order(void)
{
    struct object queue = {.references = 2, .flags = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE};
    struct object in_order = {.references = 1};
    struct object gate = {.references = 1};
    const cl_event events[] = {run(&in_order, NULL), run(&in_order, NULL), run(&queue, NULL),
                               run(&queue, NULL), run(&queue, (cl_event)&gate)};
    cl_event last;
    size_t one = 1;

    /* The one behind the gate waits for the free ones too, but no free one for it. */
    CHECK(last_waits == 3 && last_wait_list[0] == (cl_event)&gate);
    CHECK(last_wait_list[1] == events[2] && last_wait_list[2] == events[3]);
    last = run(&queue, NULL);
    CHECK(last_waits == 2 && last_wait_list[0] == events[2] && last_wait_list[1] == events[3]);
    CHECK(references_to(events[0]) == 1 && references_to(events[2]) == 2);
    CHECK(references_to(last) == 2 && gate.references == 1);
    release_event(last);

    /* A barrier orders what comes after it by itself. */
    CHECK(layer->clEnqueueBarrierWithWaitList((cl_command_queue)&queue, 0, NULL, NULL) == 0);
    CHECK(references_to(events[2]) == 1 && references_to(events[4]) == 1);
    last = run(&queue, NULL);
    CHECK(last_waits == 0);

    /* What has ended is forgotten, and all with the last reference to the queue. */
    ((struct object *)last)->program = &ended;
    CHECK(layer->clFinish((cl_command_queue)&queue) == CL_SUCCESS && references_to(last) == 1);
    release_event(last);
    creation_fails = true;
    CHECK(layer->clEnqueueNDRangeKernel((cl_command_queue)&queue, NULL, 1, NULL, &one, NULL, 0,
                                        NULL, &last) == CL_OUT_OF_RESOURCES);
    creation_fails = false;
    for (int i = 0; i < 100; i++) /* without an event of the program's */
        CHECK(layer->clEnqueueNDRangeKernel((cl_command_queue)&queue, NULL, 1, NULL, &one, NULL, 0,
                                            NULL, NULL) == CL_SUCCESS && last_waits == 0);
    CHECK(layer->clReleaseCommandQueue((cl_command_queue)&queue) == CL_SUCCESS);
    CHECK(layer->clReleaseCommandQueue((cl_command_queue)&queue) == CL_SUCCESS);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        release_event(events[i]);
}

typedef cl_int(CL_API_CALL *memcpy_function)(cl_command_queue, cl_bool, void *, const void *,
                                             size_t, cl_uint, const cl_event *, cl_event *);
typedef cl_int(CL_API_CALL *free_function)(cl_context, void *);

/* All that waits, each time with the event asked for and without. */
static void *wait_for_all(void *argument)
{
    struct object queued = {.references = 1, .flags = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE};
    cl_command_queue queue = (cl_command_queue)&queued;
    void *copy = layer->clGetExtensionFunctionAddressForPlatform(NULL, "clEnqueueMemcpyINTEL");
    void *free_usm = layer->clGetExtensionFunctionAddressForPlatform(NULL,
                                                                     "clMemBlockingFreeINTEL");

    for (int round = 0; round < ROUNDS / 10; round++) {
        cl_event events[10] = {NULL};
        cl_event *event = round % 2 ? events : NULL;
        cl_int error = 1;

#define EVENT (event ? event++ : NULL)
        CHECK(layer->clEnqueueReadBuffer(queue, NULL, CL_TRUE, 0, 0, NULL, 0, NULL, EVENT) == 0);
        CHECK(layer->clEnqueueWriteBuffer(queue, NULL, CL_TRUE, 0, 0, NULL, 0, NULL, EVENT) == 0);
        CHECK(layer->clEnqueueReadBufferRect(queue, NULL, CL_TRUE, NULL, NULL, NULL, 0, 0, 0, 0,
                                             NULL, 0, NULL, EVENT) == 0);
        CHECK(layer->clEnqueueWriteBufferRect(queue, NULL, CL_TRUE, NULL, NULL, NULL, 0, 0, 0, 0,
                                              NULL, 0, NULL, EVENT) == 0);
        CHECK(layer->clEnqueueReadImage(queue, NULL, CL_TRUE, NULL, NULL, 0, 0, NULL, 0, NULL,
                                        EVENT) == 0);
        CHECK(layer->clEnqueueWriteImage(queue, NULL, CL_TRUE, NULL, NULL, 0, 0, NULL, 0, NULL,
                                         EVENT) == 0);
        CHECK(layer->clEnqueueMapBuffer(queue, NULL, CL_TRUE, 0, 0, 0, 0, NULL, EVENT, &error));
        CHECK(error == CL_SUCCESS);
        CHECK(layer->clEnqueueMapImage(queue, NULL, CL_TRUE, 0, NULL, NULL, NULL, NULL, 0, NULL,
                                       EVENT, NULL));
        CHECK(layer->clEnqueueSVMMemcpy(queue, CL_TRUE, NULL, NULL, 0, 0, NULL, EVENT) == 0);
        CHECK(((memcpy_function)copy)(queue, CL_TRUE, NULL, NULL, 0, 0, NULL, EVENT) == 0);
#undef EVENT
        CHECK(layer->clEnqueueSVMMap(queue, CL_TRUE, 0, NULL, 0, 0, NULL, NULL) == 0);
        CHECK(((free_function)free_usm)(NULL, NULL) == CL_SUCCESS);
        if (round % 2) {
            CHECK(layer->clWaitForEvents(10, events) == CL_SUCCESS);
            for (int i = 0; i < 10; i++)
                release_event(events[i]);
        }
        CHECK(layer->clFinish(queue) == CL_SUCCESS);
    }
    CHECK(layer->clReleaseCommandQueue(queue) == CL_SUCCESS);
    return argument;
}

/* The answers that a thread gets that sleeps, as another one waits in the runtime. */
static void asleep(void)
{
    struct object well = {.references = 1}, failed = {.references = 1, .flags = 1};
    struct object elsewhere = {.references = 1, .user = &well};
    cl_event events[] = {(cl_event)&well, (cl_event)&failed, (cl_event)&elsewhere};
    cl_event own = (cl_event)calloc(1, sizeof well), given = NULL;

    ((struct object *)own)->references = 1;
    ((struct object *)own)->flags = 1;
    softgpu_enter_arena();
    CHECK(layer->clWaitForEvents(1, events) == CL_SUCCESS);
    CHECK(layer->clWaitForEvents(2, events) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    CHECK(layer->clWaitForEvents(3, events) == CL_INVALID_CONTEXT);
    CHECK(layer->clWaitForEvents(0, NULL) == CL_INVALID_VALUE);
    callbacks_fail = true;
    CHECK(layer->clWaitForEvents(1, events) == CL_OUT_OF_HOST_MEMORY);
    callbacks_fail = false;
    /* A command that failed gives no event. */
    CHECK(softgpu_await(CL_SUCCESS, own, &given) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    CHECK(!given);
    softgpu_leave_arena();
}

static void waits(void)
{
    pthread_t running[THREADS];

    asleep();
    slept = 0;
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&running[i], NULL, wait_for_all, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(running[i], NULL) == 0);
    CHECK(slept > 0);
}

static void *work(void *argument)
{
    int fd = *(int *)argument;
    struct fake_display display = display_over(fd);
    _Alignas(128) char host[64 + 1024];
    cl_context context = context_of(&display, NULL);

    for (unsigned int round = 0; round < ROUNDS; round++) {
        cl_mem buffer = import(fd, SIZE, NULL);
        cl_mem in_place = over(host + 64, 1024, NULL);
        cl_mem image = softgpu_create_from_va_surface(context, CL_MEM_READ_WRITE, &display.surface,
                                                      round % 2, NULL);

        CHECK(buffer && image);
        CHECK(softgpu_acquire_external(NULL, 1, &buffer, 0, NULL, NULL) == CL_SUCCESS);
        CHECK(softgpu_acquire_va(NULL, 1, &image, 0, NULL, NULL) == CL_SUCCESS);
        CHECK(softgpu_secretly_read_only(in_place));
        release_mem(in_place);
        release_mem(image);
        release_mem(buffer);
    }
    release_context(context);
    return NULL;
}

/* Each thread has its own descriptor, since the runtime here writes into what it is given. */
static void threads(void)
{
    pthread_t running[THREADS];
    int fds[THREADS];

    for (int i = 0; i < THREADS; i++) {
        fds[i] = memfd_create("layer_test", 0);
        CHECK(ftruncate(fds[i], SIZE) == 0);
        CHECK(pthread_create(&running[i], NULL, work, &fds[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(running[i], NULL) == 0);
        close(fds[i]);
    }
    CHECK(softgpu_live_imports() == 0 && softgpu_live_host_pointers() == 0);
}

int main(void)
{
    int fd = memfd_create("layer_test", 0);

    CHECK(ftruncate(fd, SIZE) == 0);
    start();
    extensions();
    imports(fd);
    surfaces(fd);
    host_pointers();
    kernels();
    event_order();
    waits();
    threads();
    close(fd);
    return 0;
}
