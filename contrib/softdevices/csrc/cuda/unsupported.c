/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that this driver does not have, and that a program looks up by dlsym() and gives up
 * without: FFmpeg's list of what it needs of libcuda. All answer NOT_SUPPORTED.
 */
#include "driver.h"

#define UNSUPPORTED(name)                                                                          \
    EXPORT CUresult name(void)                                                                     \
    {                                                                                              \
        CUresult ready = driver_ready();                                                           \
        return ready == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : ready;                           \
    }

UNSUPPORTED(cuArray3DCreate_v2)
UNSUPPORTED(cuArrayCreate_v2)
UNSUPPORTED(cuArrayDestroy)
UNSUPPORTED(cuCtxSetLimit)
UNSUPPORTED(cuDestroyExternalSemaphore)
UNSUPPORTED(cuDeviceGetByPCIBusId)
UNSUPPORTED(cuDeviceGetLuid)
UNSUPPORTED(cuEGLStreamConsumerDisconnect)
UNSUPPORTED(cuEGLStreamProducerConnect)
UNSUPPORTED(cuEGLStreamProducerDisconnect)
UNSUPPORTED(cuEGLStreamProducerPresentFrame)
UNSUPPORTED(cuEGLStreamProducerReturnFrame)
UNSUPPORTED(cuExternalMemoryGetMappedMipmappedArray)
UNSUPPORTED(cuGLGetDevices_v2)
UNSUPPORTED(cuGraphicsGLRegisterImage)
UNSUPPORTED(cuGraphicsMapResources)
UNSUPPORTED(cuGraphicsResourceGetMappedPointer_v2)
UNSUPPORTED(cuGraphicsSubResourceGetMappedArray)
UNSUPPORTED(cuGraphicsUnmapResources)
UNSUPPORTED(cuGraphicsUnregisterResource)
UNSUPPORTED(cuImportExternalSemaphore)
UNSUPPORTED(cuLaunchKernel)
UNSUPPORTED(cuLinkAddData_v2)
UNSUPPORTED(cuLinkAddData)
UNSUPPORTED(cuLinkComplete)
UNSUPPORTED(cuLinkCreate_v2)
UNSUPPORTED(cuLinkCreate)
UNSUPPORTED(cuLinkDestroy)
UNSUPPORTED(cuMipmappedArrayDestroy)
UNSUPPORTED(cuMipmappedArrayGetLevel)
UNSUPPORTED(cuModuleGetFunction)
UNSUPPORTED(cuModuleGetGlobal)
UNSUPPORTED(cuModuleGetGlobal_v2)
UNSUPPORTED(cuModuleLoadData)
UNSUPPORTED(cuModuleUnload)
UNSUPPORTED(cuSignalExternalSemaphoresAsync)
UNSUPPORTED(cuTexObjectCreate)
UNSUPPORTED(cuTexObjectDestroy)
UNSUPPORTED(cuWaitExternalSemaphoresAsync)

/* What symbol_find() gives for all others. */
UNSUPPORTED(softcuda_unsupported)
