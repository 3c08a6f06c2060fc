/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU device says that it is a GPU: OpenVINO's GPU plugin looks for devices of that type only,
 * and asks them what Intel's GPUs can answer. */
#include <stdlib.h>
#include <string.h>

#include "extension_string.h"
#include "hooks.h"

/* Says what it is: nobody shall take its numbers for those of a GPU. */
static const char device_name[] = "samebytes software GPU (OpenCL on the CPU)";

/* OpenVINO's oneDNN decodes this version to choose code for the GPU. One that it does not know
 * makes it parse the kernel binary as GPU code, which fails. This is Xe-LP, 12.0.0. */
static const cl_uint ip_version = 0x03000000;
/* A Tiger Lake GT2, which is Xe-LP. */
static const cl_uint pci_device = 0x9a49;
static const cl_uint intel_vendor = 0x8086;

static bool is_software(cl_device_id device)
{
    cl_device_type type = 0;

    return softgpu_below.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL) ==
               CL_SUCCESS &&
           (type & CL_DEVICE_TYPE_CPU);
}

cl_device_type softgpu_type_below(cl_device_type type)
{
    if (type == CL_DEVICE_TYPE_ALL)
        return type;
    /* Who asks for a CPU must not get what says that it is a GPU. */
    type &= ~(cl_device_type)CL_DEVICE_TYPE_CPU;
    if (type & CL_DEVICE_TYPE_GPU)
        type |= CL_DEVICE_TYPE_CPU;
    return type;
}

cl_int CL_API_CALL softgpu_get_device_ids(cl_platform_id platform, cl_device_type type,
                                          cl_uint count, cl_device_id *devices,
                                          cl_uint *devices_ret)
{
    cl_device_type below = softgpu_type_below(type);

    if (!below && type) {
        if (devices_ret)
            *devices_ret = 0;
        return CL_DEVICE_NOT_FOUND;
    }
    return softgpu_below.clGetDeviceIDs(platform, below, count, devices, devices_ret);
}

static cl_int answer_uint(cl_uint answer, size_t size, void *value, size_t *size_ret)
{
    return softgpu_answer(&answer, sizeof answer, size, value, size_ret);
}

static cl_int answer_handle_types(size_t size, void *value, size_t *size_ret)
{
    static const cl_external_memory_handle_type_khr types[] = {
        CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR,
    };

    return softgpu_answer(types, sizeof types, size, value, size_ret);
}

/* Reads a variable-length answer of the device below; the caller frees it. */
static void *read_below(cl_device_id device, cl_device_info name, size_t *length)
{
    void *answer;

    if (softgpu_below.clGetDeviceInfo(device, name, 0, NULL, length) != CL_SUCCESS)
        return NULL;
    answer = calloc(1, *length + 1);
    if (answer &&
        softgpu_below.clGetDeviceInfo(device, name, *length, answer, NULL) != CL_SUCCESS) {
        free(answer);
        return NULL;
    }
    return answer;
}

static cl_int answer_extensions(cl_device_id device, size_t size, void *value, size_t *size_ret)
{
    size_t length = 0;
    char *real = read_below(device, CL_DEVICE_EXTENSIONS, &length);
    char *shown = real ? softgpu_extension_string(real) : NULL;
    cl_int result = CL_OUT_OF_HOST_MEMORY;

    if (shown)
        result = softgpu_answer(shown, strlen(shown) + 1, size, value, size_ret);
    free(shown);
    free(real);
    return result;
}

static cl_int answer_extension_versions(cl_device_id device, size_t size, void *value,
                                        size_t *size_ret)
{
    size_t length = 0, count = 0;
    cl_name_version *real = read_below(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, &length);
    cl_name_version *shown =
        real ? softgpu_extension_versions(real, length / sizeof *real, &count) : NULL;
    cl_int result = CL_OUT_OF_HOST_MEMORY;

    if (shown)
        result = softgpu_answer(shown, count * sizeof *shown, size, value, size_ret);
    free(shown);
    free(real);
    return result;
}

cl_int CL_API_CALL softgpu_get_device_info(cl_device_id device, cl_device_info name, size_t size,
                                           void *value, size_t *size_ret)
{
    const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    /* Neither dot products nor matrix units: those kernels would hold instructions of the GPU. */
    const cl_bitfield no_features = 0;

    if (!is_software(device))
        return softgpu_below.clGetDeviceInfo(device, name, size, value, size_ret);
    switch (name) {
    case CL_DEVICE_TYPE:
        return softgpu_answer(&gpu, sizeof gpu, size, value, size_ret);
    case CL_DEVICE_NAME:
        return softgpu_answer(device_name, sizeof device_name, size, value, size_ret);
    case CL_DEVICE_VENDOR_ID:
        return answer_uint(intel_vendor, size, value, size_ret);
    case CL_DEVICE_IP_VERSION_INTEL:
        return answer_uint(ip_version, size, value, size_ret);
    case CL_DEVICE_ID_INTEL:
        return answer_uint(pci_device, size, value, size_ret);
    /* A small GPU; OpenVINO sizes its work groups by these. */
    case CL_DEVICE_NUM_SLICES_INTEL:
        return answer_uint(1, size, value, size_ret);
    case CL_DEVICE_NUM_SUB_SLICES_PER_SLICE_INTEL:
        return answer_uint(8, size, value, size_ret);
    case CL_DEVICE_NUM_EUS_PER_SUB_SLICE_INTEL:
        return answer_uint(8, size, value, size_ret);
    case CL_DEVICE_NUM_THREADS_PER_EU_INTEL:
        return answer_uint(7, size, value, size_ret);
    case CL_DEVICE_FEATURE_CAPABILITIES_INTEL:
        return softgpu_answer(&no_features, sizeof no_features, size, value, size_ret);
    case CL_DEVICE_EXTENSIONS:
        return answer_extensions(device, size, value, size_ret);
    case CL_DEVICE_EXTENSIONS_WITH_VERSION:
        return answer_extension_versions(device, size, value, size_ret);
    case CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR:
        return answer_handle_types(size, value, size_ret);
    default:
        return softgpu_below.clGetDeviceInfo(device, name, size, value, size_ret);
    }
}

cl_int CL_API_CALL softgpu_get_platform_info(cl_platform_id platform, cl_platform_info name,
                                             size_t size, void *value, size_t *size_ret)
{
    if (name == CL_PLATFORM_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR)
        return answer_handle_types(size, value, size_ret);
    return softgpu_below.clGetPlatformInfo(platform, name, size, value, size_ret);
}
