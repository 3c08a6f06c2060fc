/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "graph_extension.h"
#include "newer_abi.h"
#include "profiling.h"
#include "trace.h"

#include <string.h>

/* What OpenVINO's plugin looks for: ze_intel_npu_uuid.h of intel/level-zero-npu-extensions. */
static const uint8_t npu_driver_uuid[ZE_MAX_DRIVER_UUID_SIZE] = {
    0x01, 0x7d, 0xe9, 0x31, 0x6b, 0x4d, 0x4f, 0xd4, 0xaa, 0x9b, 0x5b, 0xed, 0x77, 0xfc, 0x8e, 0x89,
};
static const uint8_t gpu_driver_uuid[] = "samebytes-gpu-dr";

static const ze_driver_extension_properties_t npu_extensions[] = {
    {"ZE_extension_graph", GRAPH_EXTENSION_VERSION}, /* the first: see below */
    {"ZE_extension_command_queue_npu", ZE_MAKE_VERSION(1, 0)},
    {"ZE_extension_profiling_data", ZE_MAKE_VERSION(1, 0)},
    /* With it OpenVINO's plugin hands the tensors' own pointers to a recorded command list. */
    {"ZE_experimental_mutable_command_list", ZE_MAKE_VERSION(1, 1)},
    {"ZE_extension_external_memmap_sysmem", ZE_MAKE_VERSION(1, 0)},
    {"ZE_extension_pci_properties", ZE_MAKE_VERSION(1, 0)},
};
static const ze_driver_extension_properties_t gpu_extensions[] = {
    {"ZE_extension_external_memmap_sysmem", ZE_MAKE_VERSION(1, 0)},
    {"ZE_extension_pci_properties", ZE_MAKE_VERSION(1, 0)},
};

ze_result_t zeInit(ze_init_flags_t flags)
{
    FAULT(zeInit);
    struct driver *drivers[2];
    const ze_init_flags_t known = ZE_INIT_FLAG_GPU_ONLY | ZE_INIT_FLAG_VPU_ONLY;
    trace("zeInit flags=%u", flags);
    if (flags & ~known)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    return drivers_present(drivers) > 0 ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNINITIALIZED;
}

ze_result_t zeDriverGet(uint32_t *count, ze_driver_handle_t *handles)
{
    FAULT(zeDriverGet);
    struct driver *drivers[2];
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    uint32_t number = drivers_present(drivers);
    return give_handles(count, handles, (void *const *)drivers, number);
}

ze_result_t softnpu_init_drivers(uint32_t *count, ze_driver_handle_t *handles,
                                 const struct softnpu_init_driver_type *descriptor)
{
    struct driver *drivers[2], *wanted[2];
    uint32_t number = 0;
    if (!count || !descriptor)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    uint32_t present = drivers_present(drivers);
    for (uint32_t i = 0; i < present; i++)
        if (descriptor->flags & (drivers[i]->device->is_npu ? 2u : 1u))
            wanted[number++] = drivers[i];
    trace("zeInitDrivers flags=%u count=%u", descriptor->flags, number);
    return give_handles(count, handles, (void *const *)wanted, number);
}

ze_result_t zeDriverGetApiVersion(ze_driver_handle_t handle, ze_api_version_t *version)
{
    FAULT(zeDriverGetApiVersion);
    HELD struct driver *driver = object_get(handle, OBJECT_DRIVER);
    if (!driver)
        return object_missing(handle);
    if (!version)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *version = SOFTNPU_API_VERSION;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGetProperties(ze_driver_handle_t handle, ze_driver_properties_t *properties)
{
    FAULT(zeDriverGetProperties);
    HELD struct driver *driver = object_get(handle, OBJECT_DRIVER);
    if (!driver)
        return object_missing(handle);
    if (!properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const uint8_t *uuid = driver->device->is_npu ? npu_driver_uuid : gpu_driver_uuid;
    memcpy(properties->uuid.id, uuid, sizeof properties->uuid.id);
    properties->driverVersion = 1;
    return ZE_RESULT_SUCCESS;
}

/* Intel's NPU driver has no memory handles between processes either: fds are the way. */
ze_result_t zeDriverGetIpcProperties(ze_driver_handle_t handle,
                                     ze_driver_ipc_properties_t *properties)
{
    FAULT(zeDriverGetIpcProperties);
    HELD struct driver *driver = object_get(handle, OBJECT_DRIVER);
    if (!driver)
        return object_missing(handle);
    if (!properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    properties->flags = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGetExtensionProperties(ze_driver_handle_t handle, uint32_t *count,
                                           ze_driver_extension_properties_t *extensions)
{
    FAULT(zeDriverGetExtensionProperties);
    HELD struct driver *driver = object_get(handle, OBJECT_DRIVER);
    if (!driver)
        return object_missing(handle);
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const bool npu = driver->device->is_npu;
    const ze_driver_extension_properties_t *available = npu ? npu_extensions : gpu_extensions;
    const uint32_t number = npu ? sizeof npu_extensions / sizeof *npu_extensions
                                : sizeof gpu_extensions / sizeof *gpu_extensions;
    if (*count == 0 || !extensions) {
        *count = number;
        return ZE_RESULT_SUCCESS;
    }
    if (*count > number)
        *count = number;
    memcpy(extensions, available, *count * sizeof *extensions);
    if (npu)
        extensions[0].version = graph_extension_version();
    return ZE_RESULT_SUCCESS;
}

static ze_result_t set_workload_type(ze_command_queue_handle_t handle, uint32_t workload)
{
    HELD struct object *queue = object_get(handle, OBJECT_COMMAND_QUEUE);
    trace("queue_workload queue=%p workload=%u", (void *)handle, workload);
    return queue ? ZE_RESULT_SUCCESS : object_missing(handle);
}

/* ze_command_queue_npu_ext.h: one function. */
static const void *const queue_extension[] = {(const void *)set_workload_type};

ze_result_t zeDriverGetExtensionFunctionAddress(ze_driver_handle_t handle, const char *name,
                                                void **address)
{
    FAULT(zeDriverGetExtensionFunctionAddress);
    /* Callers append a version to some of these names, so the beginning decides. */
    static const char graph[] = "ZE_extension_graph";
    static const char queue[] = "ZE_extension_command_queue_npu";
    static const char profiling[] = "ZE_extension_profiling_data";

    HELD struct driver *driver = object_get(handle, OBJECT_DRIVER);
    if (!driver)
        return object_missing(handle);
    if (!name || !address)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const void *table = NULL;
    if (driver->device->is_npu) {
        if (strncmp(name, graph, strlen(graph)) == 0)
            table = graph_extension_table();
        else if (strncmp(name, queue, strlen(queue)) == 0)
            table = queue_extension;
        else if (strncmp(name, profiling, strlen(profiling)) == 0)
            table = profiling_extension_table();
    }
    *address = (void *)table;
    return table ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}
