/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and their primary contexts. */
#include "config.h"
#include "context.h"
#include "driver.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static struct {
    CUcontext context;
    unsigned retained;
    unsigned flags;
} primary[MAX_DEVICES];

static bool is_device(CUdevice device)
{
    return device >= 0 && device < config()->devices;
}

EXPORT CUresult cuDeviceGetCount(int *count)
{
    RETURN_UNLESS_READY();
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = config()->devices;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    RETURN_UNLESS_READY();
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    RETURN_UNLESS_READY();
    if (!name || size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, (size_t)size, "samebytes software CUDA device");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    RETURN_UNLESS_READY();
    if (!uuid)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    memcpy(uuid->bytes, "samebytes cuda ", 15);
    uuid->bytes[15] = (char)('0' + device);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    return cuDeviceGetUuid_v2(uuid, device);
}

EXPORT CUresult cuDeviceGetPCIBusId(char *name, int size, CUdevice device)
{
    RETURN_UNLESS_READY();
    if (!name || size < 13)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, (size_t)size, "ffff:%02x:00.0", (unsigned)device);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    RETURN_UNLESS_READY();
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = config()->memory;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    RETURN_UNLESS_READY();
    if (!major || !minor)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *major = 9;
    *minor = 0;
    return CUDA_SUCCESS;
}

static int value_of(int attribute, CUdevice device)
{
    switch (attribute) {
    case ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return 9;
    case ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        return 1024;
    case ATTRIBUTE_WARP_SIZE:
        return 32;
    case ATTRIBUTE_MAX_PITCH:
        return INT_MAX;
    case ATTRIBUTE_CLOCK_RATE:
        return 1000000;
    case ATTRIBUTE_TEXTURE_ALIGNMENT:
        return 512;
    case ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
        return 32;
    case ATTRIBUTE_PCI_BUS_ID:
        return device;
    case ATTRIBUTE_PCI_DOMAIN_ID:
        return 0xffff;
    case ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
        return config()->pageable;
    case ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED:
        return config()->dma_buf_mmap;
    case ATTRIBUTE_GPU_OVERLAP:
    case ATTRIBUTE_MULTIPROCESSOR_COUNT:
    case ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case ATTRIBUTE_ASYNC_ENGINE_COUNT:
    case ATTRIBUTE_UNIFIED_ADDRESSING:
    case ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case ATTRIBUTE_MANAGED_MEMORY:
    case ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED:
    case ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
    case ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
    case ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
    case ATTRIBUTE_DMA_BUF_SUPPORTED:
        return 1;
    default:
        return 0;
    }
}

EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    RETURN_UNLESS_READY();
    if (!value || attribute < 1 || attribute > ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    /* Newer than this version of CUDA, unless it is switched on. */
    if (attribute == ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED && !config()->dma_buf_mmap)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *value = value_of(attribute, device);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    RETURN_UNLESS_READY();
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    driver_lock();
    if (!primary[device].context)
        primary[device].context = context_make(device, primary[device].flags, true);
    if (!primary[device].context)
        RETURN_UNLOCKED(CUDA_ERROR_OUT_OF_MEMORY);
    primary[device].retained++;
    *context = primary[device].context;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

static void end_primary(CUdevice device)
{
    CUcontext context = primary[device].context;

    primary[device].context = NULL;
    if (context)
        context_end(context);
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    RETURN_UNLESS_READY();
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    driver_lock();
    if (!primary[device].retained)
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_CONTEXT);
    if (--primary[device].retained == 0)
        end_primary(device);
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    RETURN_UNLESS_READY();
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    driver_lock();
    primary[device].retained = 0;
    end_primary(device);
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
    RETURN_UNLESS_READY();
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    driver_lock();
    primary[device].flags = flags;
    if (primary[device].context)
        primary[device].context->flags = flags;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
    RETURN_UNLESS_READY();
    if (!flags || !active)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    driver_lock();
    *flags = primary[device].flags;
    *active = primary[device].context != NULL;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

/* The names without a version, which FFmpeg looks up. */
EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    return cuDevicePrimaryCtxRelease_v2(device);
}

EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    return cuDevicePrimaryCtxReset_v2(device);
}

EXPORT CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

/* Devices do not see each other's memory. */
EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    RETURN_UNLESS_READY();
    if (!can)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device) || !is_device(peer))
        return CUDA_ERROR_INVALID_DEVICE;
    *can = 0;
    return CUDA_SUCCESS;
}
