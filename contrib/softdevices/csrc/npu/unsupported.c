/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Level Zero's functions that the software devices have no use for: kernels, images, virtual
 * memory, IPC handles. The real loader exports them too, and a program or OpenVINO's plugin that
 * looks all names up must find them.
 *
 * Each takes the parameters of ze_api.h and looks at none, so all are written as one function,
 * and ze_api.h, which declares them, is not included.
 */

/* ze_result_t of ze_api.h: ZE_RESULT_ERROR_UNSUPPORTED_FEATURE */
#define UNSUPPORTED_FEATURE 0x78000003u

#define UNSUPPORTED(name)                                                                          \
    __attribute__((visibility("default"))) unsigned name(void);                                    \
    unsigned name(void)                                                                            \
    {                                                                                              \
        return UNSUPPORTED_FEATURE;                                                                \
    }

UNSUPPORTED(zeCommandListAppendImageCopy)
UNSUPPORTED(zeCommandListAppendImageCopyFromMemory)
UNSUPPORTED(zeCommandListAppendImageCopyFromMemoryExt)
UNSUPPORTED(zeCommandListAppendImageCopyRegion)
UNSUPPORTED(zeCommandListAppendImageCopyToMemory)
UNSUPPORTED(zeCommandListAppendImageCopyToMemoryExt)
UNSUPPORTED(zeCommandListAppendLaunchCooperativeKernel)
UNSUPPORTED(zeCommandListAppendLaunchKernel)
UNSUPPORTED(zeCommandListAppendLaunchKernelIndirect)
UNSUPPORTED(zeCommandListAppendLaunchMultipleKernelsIndirect)
UNSUPPORTED(zeCommandListAppendMemAdvise)
UNSUPPORTED(zeCommandListAppendMemoryCopyFromContext)
UNSUPPORTED(zeCommandListAppendMemoryCopyRegion)
UNSUPPORTED(zeCommandListAppendMemoryPrefetch)
UNSUPPORTED(zeCommandListAppendQueryKernelTimestamps)
UNSUPPORTED(zeContextEvictImage)
UNSUPPORTED(zeContextMakeImageResident)
UNSUPPORTED(zeDeviceGetFabricVertexExp)
UNSUPPORTED(zeDeviceReserveCacheExt)
UNSUPPORTED(zeDeviceSetCacheAdviceExt)
UNSUPPORTED(zeEventPoolCloseIpcHandle)
UNSUPPORTED(zeEventPoolGetIpcHandle)
UNSUPPORTED(zeEventPoolOpenIpcHandle)
UNSUPPORTED(zeEventQueryTimestampsExp)
UNSUPPORTED(zeFabricEdgeGetExp)
UNSUPPORTED(zeFabricEdgeGetPropertiesExp)
UNSUPPORTED(zeFabricEdgeGetVerticesExp)
UNSUPPORTED(zeFabricVertexGetDeviceExp)
UNSUPPORTED(zeFabricVertexGetExp)
UNSUPPORTED(zeFabricVertexGetPropertiesExp)
UNSUPPORTED(zeFabricVertexGetSubVerticesExp)
UNSUPPORTED(zeImageCreate)
UNSUPPORTED(zeImageDestroy)
UNSUPPORTED(zeImageGetAllocPropertiesExt)
UNSUPPORTED(zeImageGetMemoryPropertiesExp)
UNSUPPORTED(zeImageGetProperties)
UNSUPPORTED(zeImageViewCreateExp)
UNSUPPORTED(zeKernelCreate)
UNSUPPORTED(zeKernelDestroy)
UNSUPPORTED(zeKernelGetIndirectAccess)
UNSUPPORTED(zeKernelGetName)
UNSUPPORTED(zeKernelGetProperties)
UNSUPPORTED(zeKernelGetSourceAttributes)
UNSUPPORTED(zeKernelSchedulingHintExp)
UNSUPPORTED(zeKernelSetArgumentValue)
UNSUPPORTED(zeKernelSetCacheConfig)
UNSUPPORTED(zeKernelSetGlobalOffsetExp)
UNSUPPORTED(zeKernelSetGroupSize)
UNSUPPORTED(zeKernelSetIndirectAccess)
UNSUPPORTED(zeKernelSuggestGroupSize)
UNSUPPORTED(zeKernelSuggestMaxCooperativeGroupCount)
UNSUPPORTED(zeMemCloseIpcHandle)
UNSUPPORTED(zeMemGetIpcHandle)
UNSUPPORTED(zeMemOpenIpcHandle)
UNSUPPORTED(zeModuleBuildLogDestroy)
UNSUPPORTED(zeModuleBuildLogGetString)
UNSUPPORTED(zeModuleCreate)
UNSUPPORTED(zeModuleDestroy)
UNSUPPORTED(zeModuleDynamicLink)
UNSUPPORTED(zeModuleGetFunctionPointer)
UNSUPPORTED(zeModuleGetGlobalPointer)
UNSUPPORTED(zeModuleGetKernelNames)
UNSUPPORTED(zeModuleGetNativeBinary)
UNSUPPORTED(zeModuleGetProperties)
UNSUPPORTED(zeModuleInspectLinkageExt)
UNSUPPORTED(zePhysicalMemCreate)
UNSUPPORTED(zePhysicalMemDestroy)
UNSUPPORTED(zeSamplerCreate)
UNSUPPORTED(zeSamplerDestroy)
UNSUPPORTED(zeVirtualMemFree)
UNSUPPORTED(zeVirtualMemGetAccessAttribute)
UNSUPPORTED(zeVirtualMemMap)
UNSUPPORTED(zeVirtualMemQueryPageSize)
UNSUPPORTED(zeVirtualMemReserve)
UNSUPPORTED(zeVirtualMemSetAccessAttribute)
UNSUPPORTED(zeVirtualMemUnmap)
