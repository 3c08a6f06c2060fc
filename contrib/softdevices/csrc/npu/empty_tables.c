/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables with nothing in them: images, kernels, tools (zet), system management (zes). A loader up
 * to 1.8 refuses a driver that lacks any of these functions, so they must exist.
 *
 * Their parameters are those of ze_ddi.h, zet_ddi.h and zes_ddi.h. Those headers are not included:
 * all of these are one function, whose table is a pointer to whatever it is.
 */
#include <level_zero/ze_api.h>

#define EMPTY_TABLE(name)                                                                          \
    __attribute__((visibility("default"))) ze_result_t name(ze_api_version_t version, void *table);\
    ze_result_t name(ze_api_version_t version, void *table)                                        \
    {                                                                                              \
        (void)version;                                                                             \
        return table ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_POINTER;                   \
    }

EMPTY_TABLE(zeGetDeviceExpProcAddrTable)
EMPTY_TABLE(zeGetEventExpProcAddrTable)
EMPTY_TABLE(zeGetImageProcAddrTable)
EMPTY_TABLE(zeGetImageExpProcAddrTable)
EMPTY_TABLE(zeGetModuleProcAddrTable)
EMPTY_TABLE(zeGetModuleBuildLogProcAddrTable)
EMPTY_TABLE(zeGetKernelProcAddrTable)
EMPTY_TABLE(zeGetKernelExpProcAddrTable)
EMPTY_TABLE(zeGetSamplerProcAddrTable)
EMPTY_TABLE(zeGetPhysicalMemProcAddrTable)
EMPTY_TABLE(zeGetVirtualMemProcAddrTable)
EMPTY_TABLE(zeGetFabricVertexExpProcAddrTable)
EMPTY_TABLE(zeGetFabricEdgeExpProcAddrTable)
EMPTY_TABLE(zetGetDeviceProcAddrTable)
EMPTY_TABLE(zetGetContextProcAddrTable)
EMPTY_TABLE(zetGetCommandListProcAddrTable)
EMPTY_TABLE(zetGetKernelProcAddrTable)
EMPTY_TABLE(zetGetModuleProcAddrTable)
EMPTY_TABLE(zetGetDebugProcAddrTable)
EMPTY_TABLE(zetGetMetricProcAddrTable)
EMPTY_TABLE(zetGetMetricGroupProcAddrTable)
EMPTY_TABLE(zetGetMetricGroupExpProcAddrTable)
EMPTY_TABLE(zetGetMetricQueryProcAddrTable)
EMPTY_TABLE(zetGetMetricQueryPoolProcAddrTable)
EMPTY_TABLE(zetGetMetricStreamerProcAddrTable)
EMPTY_TABLE(zetGetTracerExpProcAddrTable)
EMPTY_TABLE(zesGetDeviceProcAddrTable)
EMPTY_TABLE(zesGetDriverProcAddrTable)
EMPTY_TABLE(zesGetDiagnosticsProcAddrTable)
EMPTY_TABLE(zesGetEngineProcAddrTable)
EMPTY_TABLE(zesGetFabricPortProcAddrTable)
EMPTY_TABLE(zesGetFanProcAddrTable)
EMPTY_TABLE(zesGetFirmwareProcAddrTable)
EMPTY_TABLE(zesGetFrequencyProcAddrTable)
EMPTY_TABLE(zesGetLedProcAddrTable)
EMPTY_TABLE(zesGetMemoryProcAddrTable)
EMPTY_TABLE(zesGetPerformanceFactorProcAddrTable)
EMPTY_TABLE(zesGetPowerProcAddrTable)
EMPTY_TABLE(zesGetPsuProcAddrTable)
EMPTY_TABLE(zesGetRasProcAddrTable)
EMPTY_TABLE(zesGetSchedulerProcAddrTable)
EMPTY_TABLE(zesGetStandbyProcAddrTable)
EMPTY_TABLE(zesGetTemperatureProcAddrTable)

/* Newer loaders have these, and a program that was linked to the loader's static half, as SYCL's
 * runtime is, calls them without a look at whether they are there: source loader/ze_libddi.cpp of
 * level-zero 1.24. */
EMPTY_TABLE(zeGetDriverExpProcAddrTable)
EMPTY_TABLE(zeGetExecutableGraphProcAddrTable)
EMPTY_TABLE(zeGetGraphProcAddrTable)
EMPTY_TABLE(zeGetMemExpProcAddrTable)
EMPTY_TABLE(zeGetRTASBuilderExpProcAddrTable)
EMPTY_TABLE(zeGetRTASBuilderProcAddrTable)
EMPTY_TABLE(zeGetRTASParallelOperationExpProcAddrTable)
EMPTY_TABLE(zeGetRTASParallelOperationProcAddrTable)
EMPTY_TABLE(zerGetGlobalProcAddrTable)
EMPTY_TABLE(zesGetDeviceExpProcAddrTable)
EMPTY_TABLE(zesGetDriverExpProcAddrTable)
EMPTY_TABLE(zesGetFirmwareExpProcAddrTable)
EMPTY_TABLE(zesGetGlobalProcAddrTable)
EMPTY_TABLE(zesGetOverclockProcAddrTable)
EMPTY_TABLE(zesGetRasExpProcAddrTable)
EMPTY_TABLE(zesGetVFManagementExpProcAddrTable)
EMPTY_TABLE(zetGetCommandListExpProcAddrTable)
EMPTY_TABLE(zetGetDeviceExpProcAddrTable)
EMPTY_TABLE(zetGetMetricDecoderExpProcAddrTable)
EMPTY_TABLE(zetGetMetricExpProcAddrTable)
EMPTY_TABLE(zetGetMetricProgrammableExpProcAddrTable)
EMPTY_TABLE(zetGetMetricTracerExpProcAddrTable)
