/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads, each with a queue out of order of its own, wait in all ways, over the real runtime.
 * Prints nothing; stands still if the runtime does. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cl_int error_ = (call);                                                                    \
        if (error_ != CL_SUCCESS) {                                                                \
            fprintf(stderr, "line %d: %s gives %d\n", __LINE__, #call, error_);                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { ROUNDS = 4000, BYTES = 1 << 14, KERNELS = 4, WAYS = 8 };

typedef cl_int(CL_API_CALL *memcpy_function)(cl_command_queue, cl_bool, void *, const void *,
                                             size_t, cl_uint, const cl_event *, cl_event *);
typedef cl_int(CL_API_CALL *free_function)(cl_context, void *);
typedef void *(CL_API_CALL *allocate_function)(cl_context, const void *, size_t, cl_uint, cl_int *);

static cl_context context;
static cl_device_id device;
static cl_program program;
static memcpy_function copy;
static free_function free_usm;
static allocate_function allocate;

static cl_command_queue new_queue(void)
{
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES,
                                              CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    cl_int error;
    cl_command_queue queue =
        clCreateCommandQueueWithProperties(context, device, properties, &error);

    CHECK(error);
    return queue;
}

static void wait_for_usm(cl_command_queue queue, void *host, const cl_event *last)
{
    cl_int error;
    void *usm = allocate(context, NULL, BYTES, 0, &error);

    CHECK(error);
    CHECK(copy(queue, CL_FALSE, usm, host, BYTES, 1, last, NULL));
    CHECK(free_usm(context, usm));
}

static void wait_in_one_way(int way, cl_command_queue *queue, cl_mem buffer, char *host,
                            const cl_event *last)
{
    cl_int error;
    void *mapped;

    if (way == 0) {
        CHECK(clEnqueueReadBuffer(*queue, buffer, CL_TRUE, 0, BYTES, host, 1, last, NULL));
    } else if (way == 1) {
        CHECK(clEnqueueWriteBuffer(*queue, buffer, CL_TRUE, 0, BYTES, host, 1, last, NULL));
    } else if (way == 2) {
        mapped = clEnqueueMapBuffer(*queue, buffer, CL_TRUE, CL_MAP_READ, 0, BYTES, 1, last, NULL,
                                    &error);
        CHECK(error);
        CHECK(clEnqueueUnmapMemObject(*queue, buffer, mapped, 0, NULL, NULL));
    } else if (way == 3) {
        CHECK(copy(*queue, CL_TRUE, host, host + BYTES, BYTES, 1, last, NULL));
    } else if (way == 4) {
        wait_for_usm(*queue, host, last);
    } else if (way == 5) {
        CHECK(clFinish(*queue));
    } else {
        CHECK(clWaitForEvents(1, last));
    }
    if (way == 7) { /* as soon as the last command has ended */
        CHECK(clReleaseCommandQueue(*queue));
        *queue = new_queue();
    }
}

static void *work(void *host)
{
    cl_command_queue queue = new_queue();
    size_t items = BYTES / sizeof(cl_int);
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, "work", &error);
    cl_mem buffer;

    CHECK(error);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
    CHECK(error);
    CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    for (int round = 0; round < ROUNDS; round++) {
        cl_event events[KERNELS];

        for (int i = 0; i < KERNELS; i++)
            CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, i > 0,
                                         i ? &events[i - 1] : NULL, &events[i]));
        wait_in_one_way(round % WAYS, &queue, buffer, host, &events[KERNELS - 1]);
        for (int i = 0; i < KERNELS; i++)
            CHECK(clReleaseEvent(events[i]));
    }
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseCommandQueue(queue));
    return NULL;
}

int main(void)
{
    static const char *source =
        "kernel void work(global int *x) { int i = get_global_id(0), a = x[i];"
        "for (int j = 0; j < 50; j++) a = a * 3 + j; x[i] = a; }";
    static char hosts[2][2 * BYTES];
    cl_platform_id platform;
    pthread_t threads[2];
    cl_int error;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    CHECK(error);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    CHECK(error);
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    copy = (memcpy_function)clGetExtensionFunctionAddressForPlatform(platform,
                                                                     "clEnqueueMemcpyINTEL");
    free_usm = (free_function)clGetExtensionFunctionAddressForPlatform(platform,
                                                                       "clMemBlockingFreeINTEL");
    allocate = (allocate_function)clGetExtensionFunctionAddressForPlatform(platform,
                                                                           "clHostMemAllocINTEL");
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, hosts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
