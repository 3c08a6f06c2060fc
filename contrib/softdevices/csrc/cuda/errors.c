/* SPDX-License-Identifier: Apache-2.0 */
/* Names and meanings of the results that this driver returns. */
#include "driver.h"

static const struct {
    CUresult code;
    const char *name;
    const char *meaning;
} results[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "the driver is not initialised"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "there is no device"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "there is no such device"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid or no current context"},
    {CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",
     "the primary context is active"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED",
     "the context was destroyed"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "a part of the host memory is already registered"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "the host memory is not registered"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "the symbol was not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "the work is not done yet"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "a stream used memory that was not there"},
    {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED",
     "functions that a stream calls may not call the driver"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED",
     "the software CUDA driver does not support this"},
};

static int find(CUresult code)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].code == code)
            return (int)i;
    return -1;
}

EXPORT CUresult cuGetErrorName(CUresult code, const char **text)
{
    int i = find(code);

    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = i < 0 ? NULL : results[i].name;
    return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

EXPORT CUresult cuGetErrorString(CUresult code, const char **text)
{
    int i = find(code);

    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = i < 0 ? NULL : results[i].meaning;
    return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
