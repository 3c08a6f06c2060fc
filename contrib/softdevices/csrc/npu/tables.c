/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the real loader asks a driver for: tables of its functions. An entry that is left as the
 * loader gave it (NULL) makes the loader answer ZE_RESULT_ERROR_UNSUPPORTED_FEATURE.
 */
#include "newer_abi.h"

#include <level_zero/ze_ddi.h>
#include <stddef.h>

/* The loader's tables have the layout of its own version, so newer entries go by number. */
static ze_result_t check(ze_api_version_t version, const void *table)
{
    if (!table)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    return ZE_MAJOR_VERSION(version) == 1 ? ZE_RESULT_SUCCESS
                                          : ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
}

static void set_entry(void *table, size_t index, const void *function)
{
    ((const void **)table)[index] = function;
}

ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetGlobalProcAddrTable(ze_api_version_t version,
                                                             ze_global_dditable_t *table)
{
    ze_result_t result = check(version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    table->pfnInit = zeInit;
    if (version >= ZE_MAKE_VERSION(1, 10))
        set_entry(table, SOFTNPU_GLOBAL_INIT_DRIVERS, (const void *)softnpu_init_drivers);
    return ZE_RESULT_SUCCESS;
}

ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetDriverProcAddrTable(ze_api_version_t version,
                                                             ze_driver_dditable_t *table)
{
    ze_result_t result = check(version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    table->pfnGet = zeDriverGet;
    table->pfnGetApiVersion = zeDriverGetApiVersion;
    table->pfnGetProperties = zeDriverGetProperties;
    table->pfnGetIpcProperties = zeDriverGetIpcProperties;
    table->pfnGetExtensionProperties = zeDriverGetExtensionProperties;
    table->pfnGetExtensionFunctionAddress = zeDriverGetExtensionFunctionAddress;
    return ZE_RESULT_SUCCESS;
}

ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetDeviceProcAddrTable(ze_api_version_t version,
                                                             ze_device_dditable_t *table)
{
    ze_result_t result = check(version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    table->pfnGet = zeDeviceGet;
    table->pfnGetSubDevices = zeDeviceGetSubDevices;
    table->pfnGetProperties = zeDeviceGetProperties;
    table->pfnGetComputeProperties = zeDeviceGetComputeProperties;
    table->pfnGetModuleProperties = zeDeviceGetModuleProperties;
    table->pfnGetCommandQueueGroupProperties = zeDeviceGetCommandQueueGroupProperties;
    table->pfnGetMemoryProperties = zeDeviceGetMemoryProperties;
    table->pfnGetMemoryAccessProperties = zeDeviceGetMemoryAccessProperties;
    table->pfnGetCacheProperties = zeDeviceGetCacheProperties;
    table->pfnGetImageProperties = zeDeviceGetImageProperties;
    table->pfnGetExternalMemoryProperties = zeDeviceGetExternalMemoryProperties;
    table->pfnGetP2PProperties = zeDeviceGetP2PProperties;
    table->pfnCanAccessPeer = zeDeviceCanAccessPeer;
    table->pfnGetStatus = zeDeviceGetStatus;
    table->pfnGetGlobalTimestamps = zeDeviceGetGlobalTimestamps;
    table->pfnPciGetPropertiesExt = zeDevicePciGetPropertiesExt;
    if (version >= ZE_MAKE_VERSION(1, 16)) {
        set_entry(table, SOFTNPU_DEVICE_GET_REQUIREMENTS,
                  (const void *)softnpu_get_runtime_requirements);
        set_entry(table, SOFTNPU_DEVICE_GET_REQUIREMENTS_KEY,
                  (const void *)softnpu_get_runtime_requirements_key);
        set_entry(table, SOFTNPU_DEVICE_VALIDATE_REQUIREMENTS,
                  (const void *)softnpu_validate_runtime_requirements);
    }
    return ZE_RESULT_SUCCESS;
}

ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetContextProcAddrTable(ze_api_version_t version,
                                                              ze_context_dditable_t *table)
{
    ze_result_t result = check(version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    table->pfnCreate = zeContextCreate;
    table->pfnCreateEx = zeContextCreateEx;
    table->pfnDestroy = zeContextDestroy;
    table->pfnGetStatus = zeContextGetStatus;
    table->pfnSystemBarrier = zeContextSystemBarrier;
    table->pfnMakeMemoryResident = zeContextMakeMemoryResident;
    table->pfnEvictMemory = zeContextEvictMemory;
    return ZE_RESULT_SUCCESS;
}

ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetMemProcAddrTable(ze_api_version_t version,
                                                          ze_mem_dditable_t *table)
{
    ze_result_t result = check(version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    table->pfnAllocShared = zeMemAllocShared;
    table->pfnAllocDevice = zeMemAllocDevice;
    table->pfnAllocHost = zeMemAllocHost;
    table->pfnFree = zeMemFree;
    table->pfnGetAllocProperties = zeMemGetAllocProperties;
    table->pfnGetAddressRange = zeMemGetAddressRange;
    /* Since 1.3, at the end of the table. */
    if (version >= ZE_MAKE_VERSION(1, 3))
        table->pfnFreeExt = zeMemFreeExt;
    return ZE_RESULT_SUCCESS;
}

ZE_DLLEXPORT ze_result_t ZE_APICALL
zeGetCommandQueueProcAddrTable(ze_api_version_t version, ze_command_queue_dditable_t *table)
{
    ze_result_t result = check(version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    table->pfnCreate = zeCommandQueueCreate;
    table->pfnDestroy = zeCommandQueueDestroy;
    table->pfnExecuteCommandLists = zeCommandQueueExecuteCommandLists;
    table->pfnSynchronize = zeCommandQueueSynchronize;
    return ZE_RESULT_SUCCESS;
}

ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetCommandListProcAddrTable(ze_api_version_t version,
                                                                  ze_command_list_dditable_t *table)
{
    ze_result_t result = check(version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    table->pfnCreate = zeCommandListCreate;
    table->pfnCreateImmediate = zeCommandListCreateImmediate;
    table->pfnDestroy = zeCommandListDestroy;
    table->pfnClose = zeCommandListClose;
    table->pfnReset = zeCommandListReset;
    table->pfnAppendWriteGlobalTimestamp = zeCommandListAppendWriteGlobalTimestamp;
    table->pfnAppendBarrier = zeCommandListAppendBarrier;
    table->pfnAppendMemoryRangesBarrier = zeCommandListAppendMemoryRangesBarrier;
    table->pfnAppendMemoryCopy = zeCommandListAppendMemoryCopy;
    table->pfnAppendMemoryFill = zeCommandListAppendMemoryFill;
    table->pfnAppendSignalEvent = zeCommandListAppendSignalEvent;
    table->pfnAppendWaitOnEvents = zeCommandListAppendWaitOnEvents;
    table->pfnAppendEventReset = zeCommandListAppendEventReset;
    if (version >= ZE_MAKE_VERSION(1, 9))
        set_entry(table, SOFTNPU_LIST_HOST_SYNCHRONIZE,
                  (const void *)softnpu_list_host_synchronize);
    return ZE_RESULT_SUCCESS;
}

/* Since 1.9; old headers do not have the type of the table. */
__attribute__((visibility("default"))) ze_result_t
softnpu_get_command_list_exp_table(ze_api_version_t version, void *table)
    __asm__("zeGetCommandListExpProcAddrTable");

ze_result_t softnpu_get_command_list_exp_table(ze_api_version_t version, void *table)
{
    ze_result_t result = check(version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    set_entry(table, SOFTNPU_LIST_EXP_GET_NEXT_COMMAND_ID,
              (const void *)softnpu_list_get_next_command_id);
    set_entry(table, SOFTNPU_LIST_EXP_UPDATE_MUTABLE_COMMANDS,
              (const void *)softnpu_list_update_mutable_commands);
    return ZE_RESULT_SUCCESS;
}

ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetFenceProcAddrTable(ze_api_version_t version,
                                                            ze_fence_dditable_t *table)
{
    ze_result_t result = check(version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    table->pfnCreate = zeFenceCreate;
    table->pfnDestroy = zeFenceDestroy;
    table->pfnHostSynchronize = zeFenceHostSynchronize;
    table->pfnQueryStatus = zeFenceQueryStatus;
    table->pfnReset = zeFenceReset;
    return ZE_RESULT_SUCCESS;
}

ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetEventPoolProcAddrTable(ze_api_version_t version,
                                                                ze_event_pool_dditable_t *table)
{
    ze_result_t result = check(version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    table->pfnCreate = zeEventPoolCreate;
    table->pfnDestroy = zeEventPoolDestroy;
    return ZE_RESULT_SUCCESS;
}

ZE_DLLEXPORT ze_result_t ZE_APICALL zeGetEventProcAddrTable(ze_api_version_t version,
                                                            ze_event_dditable_t *table)
{
    ze_result_t result = check(version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    table->pfnCreate = zeEventCreate;
    table->pfnDestroy = zeEventDestroy;
    table->pfnHostSignal = zeEventHostSignal;
    table->pfnHostSynchronize = zeEventHostSynchronize;
    table->pfnQueryStatus = zeEventQueryStatus;
    table->pfnHostReset = zeEventHostReset;
    table->pfnQueryKernelTimestamp = zeEventQueryKernelTimestamp;
    return ZE_RESULT_SUCCESS;
}
