/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include "config.h"
#include "fork_guard.h"
#include "newer_abi.h"
#include "waitable.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define INTEL 0x8086

static struct device npu = {
    .is_npu = true,
    .type = ZE_DEVICE_TYPE_VPU,
    .name = "samebytes software NPU",
    .uuid = "samebytes-npu-01",
    .pci_device = 0x0b, /* where Intel's NPUs sit */
    .largest_fill_pattern = 4,
};
static struct device gpu = {
    .is_npu = false,
    .type = ZE_DEVICE_TYPE_GPU,
    .name = "samebytes software GPU (memory only)",
    .uuid = "samebytes-gpu-01",
    .device_id = 0x64a0, /* Lunar Lake's */
    .pci_device = 0x02,
    .tiles = 1,
    .largest_fill_pattern = 128,
};
static struct driver npu_driver = {.device = &npu};
static struct driver gpu_driver = {.device = &gpu};

/* PCI identifiers and tiles of the platforms that OpenVINO's NPU plugin knows. */
static const struct {
    unsigned platform;
    uint32_t device_id;
    uint32_t tiles;
} platforms[] = {
    {4000, 0x643e, 6}, /* Lunar Lake; the one played where the platform is not known */
    {3720, 0x7d1d, 2}, /* Meteor Lake */
    {5010, 0xb03e, 3}, /* Panther Lake */
    {5020, 0xfd3e, 1}, /* Wildcat Lake */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void publish_all(void)
{
    size_t chosen = 0;
    for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++)
        if (platforms[i].platform == config()->platform)
            chosen = i;
    npu.device_id = platforms[chosen].device_id;
    npu.tiles = platforms[chosen].tiles;
    fork_guard_install();
    object_publish(&npu.object, OBJECT_DEVICE, NULL);
    object_publish(&gpu.object, OBJECT_DEVICE, NULL);
    object_publish(&npu_driver.object, OBJECT_DRIVER, NULL);
    object_publish(&gpu_driver.object, OBJECT_DRIVER, NULL);
}

uint32_t drivers_present(struct driver **drivers)
{
    uint32_t number = 0;
    pthread_once(&once, publish_all);
    if (config()->has_npu)
        drivers[number++] = &npu_driver;
    if (config()->has_gpu)
        drivers[number++] = &gpu_driver;
    return number;
}

ze_result_t give_handles(uint32_t *count, void *handles, void *const *available, uint32_t number)
{
    if (*count == 0 || !handles) {
        *count = number;
        return ZE_RESULT_SUCCESS;
    }
    if (*count > number)
        *count = number;
    memcpy(handles, available, *count * sizeof *available);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGet(ze_driver_handle_t handle, uint32_t *count, ze_device_handle_t *devices)
{
    FAULT(zeDeviceGet);
    HELD struct driver *driver = object_get(handle, OBJECT_DRIVER);
    if (!driver)
        return object_missing(handle);
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    void *const only[] = {driver->device};
    return give_handles(count, devices, only, 1);
}

ze_result_t zeDeviceGetSubDevices(ze_device_handle_t handle, uint32_t *count,
                                  ze_device_handle_t *devices)
{
    FAULT(zeDeviceGetSubDevices);
    (void)devices;
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *count = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetProperties(ze_device_handle_t handle, ze_device_properties_t *properties)
{
    FAULT(zeDeviceGetProperties);
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    properties->type = device->type;
    properties->vendorId = INTEL;
    properties->deviceId = device->device_id;
    properties->flags = ZE_DEVICE_PROPERTY_FLAG_INTEGRATED;
    properties->subdeviceId = 0;
    properties->coreClockRate = 1000;
    properties->maxMemAllocSize = MEMORY_TOTAL;
    properties->maxHardwareContexts = 128;
    properties->maxCommandQueuePriority = 0;
    properties->numThreadsPerEU = 1;
    properties->physicalEUSimdWidth = 1;
    properties->numEUsPerSubslice = 1;
    properties->numSubslicesPerSlice = 1;
    /* OpenVINO's plugin reads the number of tiles here. */
    properties->numSlices = device->tiles;
    /* Version 1.1 of the structure means ticks a nanosecond long, the older one cycles/second. */
    properties->timerResolution =
        properties->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? 1000000000 : 1;
    properties->timestampValidBits = 64;
    properties->kernelTimestampValidBits = 64;
    memcpy(properties->uuid.id, device->uuid, sizeof properties->uuid.id);
    snprintf(properties->name, sizeof properties->name, "%s", device->name);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetComputeProperties(ze_device_handle_t handle,
                                         ze_device_compute_properties_t *properties)
{
    FAULT(zeDeviceGetComputeProperties);
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    properties->maxTotalGroupSize = 1;
    properties->maxGroupSizeX = properties->maxGroupSizeY = properties->maxGroupSizeZ = 1;
    properties->maxGroupCountX = properties->maxGroupCountY = properties->maxGroupCountZ = 1;
    properties->maxSharedLocalMemory = 0;
    properties->numSubGroupSizes = 0;
    return ZE_RESULT_SUCCESS;
}

/* Neither device runs kernels. */
ze_result_t zeDeviceGetModuleProperties(ze_device_handle_t handle,
                                        ze_device_module_properties_t *properties)
{
    FAULT(zeDeviceGetModuleProperties);
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    properties->spirvVersionSupported = 0;
    properties->flags = 0;
    properties->fp16flags = properties->fp32flags = properties->fp64flags = 0;
    properties->maxArgumentsSize = 0;
    properties->printfBufferSize = 0;
    memset(&properties->nativeKernelSupported, 0, sizeof properties->nativeKernelSupported);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetCommandQueueGroupProperties(ze_device_handle_t handle, uint32_t *count,
                                                   ze_command_queue_group_properties_t *groups)
{
    FAULT(zeDeviceGetCommandQueueGroupProperties);
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (*count > 0 && groups) {
        groups->flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE |
                        ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
        groups->maxMemoryFillPatternSize = device->largest_fill_pattern;
        groups->numQueues = 1;
    }
    *count = 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetMemoryProperties(ze_device_handle_t handle, uint32_t *count,
                                        ze_device_memory_properties_t *memories)
{
    FAULT(zeDeviceGetMemoryProperties);
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (*count > 0 && memories) {
        memories->flags = 0;
        memories->maxClockRate = 0;
        memories->maxBusWidth = 64;
        memories->totalSize = MEMORY_TOTAL;
        snprintf(memories->name, sizeof memories->name, "host memory");
    }
    *count = 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetMemoryAccessProperties(ze_device_handle_t handle,
                                              ze_device_memory_access_properties_t *properties)
{
    FAULT(zeDeviceGetMemoryAccessProperties);
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const ze_memory_access_cap_flags_t access =
        ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC;
    properties->hostAllocCapabilities = access;
    properties->deviceAllocCapabilities = access;
    properties->sharedSingleDeviceAllocCapabilities = access;
    properties->sharedCrossDeviceAllocCapabilities = 0;
    properties->sharedSystemAllocCapabilities = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetCacheProperties(ze_device_handle_t handle, uint32_t *count,
                                       ze_device_cache_properties_t *caches)
{
    FAULT(zeDeviceGetCacheProperties);
    (void)caches;
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *count = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetImageProperties(ze_device_handle_t handle,
                                       ze_device_image_properties_t *properties)
{
    FAULT(zeDeviceGetImageProperties);
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    properties->maxImageDims1D = properties->maxImageDims2D = properties->maxImageDims3D = 0;
    properties->maxImageBufferSize = 0;
    properties->maxImageArraySlices = 0;
    properties->maxSamplers = 0;
    properties->maxReadImageArgs = properties->maxWriteImageArgs = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetExternalMemoryProperties(ze_device_handle_t handle,
                                                ze_device_external_memory_properties_t *properties)
{
    FAULT(zeDeviceGetExternalMemoryProperties);
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    properties->memoryAllocationImportTypes =
        ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF | SOFTNPU_EXTERNAL_MEMORY_STANDARD_ALLOCATION;
    properties->memoryAllocationExportTypes = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
    properties->imageImportTypes = properties->imageExportTypes = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetP2PProperties(ze_device_handle_t handle, ze_device_handle_t peer_handle,
                                     ze_device_p2p_properties_t *properties)
{
    FAULT(zeDeviceGetP2PProperties);
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    HELD struct device *peer = object_get(peer_handle, OBJECT_DEVICE);
    if (!device || !peer)
        return object_missing(device ? (void *)peer_handle : (void *)handle);
    if (!properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    properties->flags = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceCanAccessPeer(ze_device_handle_t handle, ze_device_handle_t peer_handle,
                                  ze_bool_t *answer)
{
    FAULT(zeDeviceCanAccessPeer);
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    HELD struct device *peer = object_get(peer_handle, OBJECT_DEVICE);
    if (!device || !peer)
        return object_missing(device ? (void *)peer_handle : (void *)handle);
    if (!answer)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *answer = device == peer;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetStatus(ze_device_handle_t handle)
{
    FAULT(zeDeviceGetStatus);
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    return device ? ZE_RESULT_SUCCESS : object_missing(handle);
}

ze_result_t zeDeviceGetGlobalTimestamps(ze_device_handle_t handle, uint64_t *host,
                                        uint64_t *on_device)
{
    FAULT(zeDeviceGetGlobalTimestamps);
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!host || !on_device)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *host = *on_device = now_ns();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDevicePciGetPropertiesExt(ze_device_handle_t handle,
                                        ze_pci_ext_properties_t *properties)
{
    FAULT(zeDevicePciGetPropertiesExt);
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    properties->address.domain = 0;
    properties->address.bus = 0;
    properties->address.device = device->pci_device;
    properties->address.function = 0;
    /* -1: not known, as on integrated devices. */
    properties->maxSpeed.genVersion = -1;
    properties->maxSpeed.width = -1;
    properties->maxSpeed.maxBandwidth = -1;
    return ZE_RESULT_SUCCESS;
}
