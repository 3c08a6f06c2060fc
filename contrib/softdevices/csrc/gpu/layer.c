/* SPDX-License-Identifier: Apache-2.0 */
/* The entry points of an OpenCL loader layer (named by OPENCL_LAYERS), over Intel's OpenCL runtime
 * for CPUs. It shows the CPU device as a GPU, so that OpenVINO's GPU plugin takes it, adds what
 * that device lacks, and corrects what the runtime does wrong. Each module says why it is needed. */
/* For RTLD_NODELETE and dladdr. */
#define _GNU_SOURCE
#include "layer.h"

#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "failing.h"
#include "hooks.h"
#include "trace.h"

cl_icd_dispatch softgpu_below;

static cl_icd_dispatch hooks;
static pthread_once_t hooks_filled = PTHREAD_ONCE_INIT;
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static bool below_known;

cl_int softgpu_answer(const void *answer, size_t answer_size, size_t size, void *value,
                      size_t *size_ret)
{
    if (size_ret)
        *size_ret = answer_size;
    if (!value)
        return CL_SUCCESS;
    if (size < answer_size)
        return CL_INVALID_VALUE;
    if (answer_size)
        memcpy(value, answer, answer_size);
    return CL_SUCCESS;
}

void softgpu_set_error(cl_int *place, cl_int error)
{
    if (place)
        *place = error;
}

struct named_function {
    const char *name;
    void *function;
};

/* Extension functions have no place in the dispatch table: programs ask for them by name. */
static const struct named_function extension_functions[] = {
    {"clCreateBufferWithProperties", (void *)softgpu_create_buffer_with_properties},
    {"clCreateBufferWithPropertiesINTEL", (void *)softgpu_create_buffer_with_properties},
    {"clCreateImageWithProperties", (void *)softgpu_create_image_with_properties},
    {"clEnqueueAcquireExternalMemObjectsKHR", (void *)softgpu_acquire_external},
    {"clEnqueueReleaseExternalMemObjectsKHR", (void *)softgpu_release_external},
    {"clGetDeviceIDsFromVA_APIMediaAdapterINTEL", (void *)softgpu_get_device_ids_from_va},
    {"clCreateFromVA_APIMediaSurfaceINTEL", (void *)softgpu_create_from_va_surface},
    {"clEnqueueAcquireVA_APIMediaSurfacesINTEL", (void *)softgpu_acquire_va},
    {"clEnqueueReleaseVA_APIMediaSurfacesINTEL", (void *)softgpu_release_va},
};

static void *extension_function(const char *name)
{
    for (size_t i = 0; name && i < sizeof extension_functions / sizeof *extension_functions; i++)
        if (strcmp(name, extension_functions[i].name) == 0)
            return extension_functions[i].function;
    return NULL;
}

static void *CL_API_CALL get_extension_function(const char *name)
{
    void *found = extension_function(name);

    if (!found)
        found =
            softgpu_blocking_extension(name, softgpu_below.clGetExtensionFunctionAddress(name));
    return softgpu_failing_extension(name, found);
}

static void *CL_API_CALL get_extension_function_for_platform(cl_platform_id platform,
                                                             const char *name)
{
    void *found = extension_function(name);

    if (!found)
        found = softgpu_blocking_extension(
            name, softgpu_below.clGetExtensionFunctionAddressForPlatform(platform, name));
    return softgpu_failing_extension(name, found);
}

/* What stays NULL in the table goes straight to the functions below. */
static void fill_hooks(void)
{
    hooks.clGetPlatformInfo = softgpu_get_platform_info;
    hooks.clGetDeviceIDs = softgpu_get_device_ids;
    hooks.clGetDeviceInfo = softgpu_get_device_info;
    hooks.clCreateContext = softgpu_create_context;
    hooks.clCreateContextFromType = softgpu_create_context_from_type;
    hooks.clGetContextInfo = softgpu_get_context_info;
    hooks.clGetMemObjectInfo = softgpu_get_mem_object_info;
    hooks.clGetImageInfo = softgpu_get_image_info;
    hooks.clCreateBuffer = softgpu_create_buffer;
    hooks.clCreateSubBuffer = softgpu_create_sub_buffer;
    hooks.clCreateBufferWithProperties = softgpu_create_buffer_with_properties;
    hooks.clCreateImageWithProperties = softgpu_create_image_with_properties;
    hooks.clCreateKernel = softgpu_create_kernel;
    hooks.clCreateKernelsInProgram = softgpu_create_kernels_in_program;
    hooks.clCloneKernel = softgpu_clone_kernel;
    hooks.clReleaseKernel = softgpu_release_kernel;
    hooks.clEnqueueNDRangeKernel = softgpu_enqueue_kernel;
    hooks.clEnqueueBarrierWithWaitList = softgpu_enqueue_barrier;
    hooks.clWaitForEvents = softgpu_wait_for_events;
    hooks.clFinish = softgpu_finish;
    hooks.clReleaseCommandQueue = softgpu_release_queue;
    hooks.clEnqueueReadBuffer = softgpu_read_buffer;
    hooks.clEnqueueReadBufferRect = softgpu_read_buffer_rect;
    hooks.clEnqueueReadImage = softgpu_read_image;
    hooks.clEnqueueMapBuffer = softgpu_map_buffer;
    hooks.clEnqueueMapImage = softgpu_map_image;
    hooks.clEnqueueSVMMemcpy = softgpu_svm_memcpy;
    hooks.clEnqueueSVMMap = softgpu_svm_map;
    hooks.clEnqueueWriteBuffer = softgpu_write_buffer;
    hooks.clEnqueueWriteBufferRect = softgpu_write_buffer_rect;
    hooks.clEnqueueWriteImage = softgpu_write_image;
    hooks.clGetExtensionFunctionAddress = get_extension_function;
    hooks.clGetExtensionFunctionAddressForPlatform = get_extension_function_for_platform;
    softgpu_trace_init();
    softgpu_blocking_writes_init();
}

/* Keeps the library that holds `function` in memory until the process ends. */
static void pin_library_of(void *function)
{
    Dl_info info;

    /* The handle is dropped on purpose: RTLD_NODELETE keeps the library without it. */
    if (dladdr(function, &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* A process may hold two loaders (pyopencl brings one of its own), each of which initialises the
 * layer with its own table. Either table serves all calls, since an OpenCL object itself knows its
 * runtime. The first is copied, and its loader pinned, so that it never points to unmapped code
 * when, for example, OpenVINO unloads its plugin and with it the loader. */
static void remember_below(const cl_icd_dispatch *below, size_t size)
{
    pthread_mutex_lock(&init_lock);
    if (!below_known) {
        memcpy(&softgpu_below, below, size);
        pin_library_of((void *)softgpu_below.clGetDeviceIDs);
        softgpu_failing_init(&hooks, &softgpu_below);
        below_known = true;
    }
    pthread_mutex_unlock(&init_lock);
}

SOFTGPU_EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size,
                                                              void *value, size_t *size_ret)
{
    static const char layer_name[] = "samebytes software GPU";
    cl_layer_api_version version = CL_LAYER_API_VERSION_100;

    switch (name) {
    case CL_LAYER_API_VERSION:
        return softgpu_answer(&version, sizeof version, size, value, size_ret);
    case CL_LAYER_NAME:
        return softgpu_answer(layer_name, sizeof layer_name, size, value, size_ret);
    default:
        return CL_INVALID_VALUE;
    }
}

/* What ocl-icd calls. */
SOFTGPU_EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count,
                                                           const cl_icd_dispatch *below,
                                                           cl_uint *count_ret,
                                                           const cl_icd_dispatch **layer_ret)
{
    /* The table has only grown since OpenCL 1.0: a loader must know at least the entries up to the
     * last one of OpenCL 3.0; those that it knows beyond are not ours. */
    const cl_uint ours = sizeof hooks / sizeof(void *);

    if (!below || !count_ret || !layer_ret || count < ours)
        return CL_INVALID_VALUE;
    pthread_once(&hooks_filled, fill_hooks);
    remember_below(below, sizeof softgpu_below);
    *count_ret = ours;
    *layer_ret = &hooks;
    softgpu_trace("layer initialised by a loader with %u functions", count);
    return CL_SUCCESS;
}

/* Khronos' loader since 2025, which Intel's package holds, wants these two instead. They are in no
 * header that distributions ship yet, hence the declarations. */
CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint count,
                                                          const cl_icd_dispatch *below,
                                                          cl_uint *count_ret,
                                                          const cl_icd_dispatch **layer_ret,
                                                          const intptr_t *properties);
CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void);

SOFTGPU_EXPORT CL_API_ENTRY cl_int CL_API_CALL
clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch *below, cl_uint *count_ret,
                          const cl_icd_dispatch **layer_ret, const intptr_t *properties)
{
    (void)properties;
    return clInitLayer(count, below, count_ret, layer_ret);
}

SOFTGPU_EXPORT CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void)
{
    return CL_SUCCESS;
}
