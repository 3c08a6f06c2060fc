/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver says of a pointer. */
#include "context.h"
#include "driver.h"
#include "ranges.h"

#include <stdbool.h>
#include <string.h>

static bool is_host(const struct range *range)
{
    return range->kind == RANGE_PINNED || range->kind == RANGE_REGISTERED;
}

static CUresult answer(void *data, int attribute, const struct range *range, CUdeviceptr address)
{
    switch (attribute) {
    case POINTER_CONTEXT:
        *(CUcontext *)data = range->context;
        return CUDA_SUCCESS;
    case POINTER_MEMORY_TYPE:
        *(unsigned *)data = is_host(range) ? MEMORYTYPE_HOST : MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case POINTER_DEVICE_POINTER:
        *(CUdeviceptr *)data = address;
        return CUDA_SUCCESS;
    case POINTER_HOST_POINTER:
        if (!is_host(range) && range->kind != RANGE_MANAGED)
            return CUDA_ERROR_INVALID_VALUE;
        *(CUdeviceptr *)data = address;
        return CUDA_SUCCESS;
    case POINTER_SYNC_MEMOPS:
        *(unsigned *)data = range->sync_memops;
        return CUDA_SUCCESS;
    case POINTER_BUFFER_ID:
        *(unsigned long long *)data = range->number;
        return CUDA_SUCCESS;
    case POINTER_IS_MANAGED:
        *(unsigned *)data = range->kind == RANGE_MANAGED;
        return CUDA_SUCCESS;
    case POINTER_DEVICE_ORDINAL:
        *(int *)data = range->device;
        return CUDA_SUCCESS;
    case POINTER_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(unsigned *)data = 0;
        return CUDA_SUCCESS;
    case POINTER_RANGE_START_ADDR:
        *(CUdeviceptr *)data = range->around;
        return CUDA_SUCCESS;
    case POINTER_RANGE_SIZE:
        *(size_t *)data = range->size_around;
        return CUDA_SUCCESS;
    case POINTER_MAPPED:
        *(unsigned *)data = 1;
        return CUDA_SUCCESS;
    case POINTER_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)data = (unsigned long long)range->handle_types;
        return CUDA_SUCCESS;
    case POINTER_IS_GPU_DIRECT_RDMA_CAPABLE:
        *(unsigned *)data = range->kind == RANGE_DEVICE || range->gpu_direct;
        return CUDA_SUCCESS;
    case POINTER_ACCESS_FLAGS:
        *(unsigned *)data = range->kind == RANGE_VMM ? (unsigned)range->access : MEM_ACCESS_READWRITE;
        return CUDA_SUCCESS;
    case POINTER_MEMPOOL_HANDLE:
        *(void **)data = NULL;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

EXPORT CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr address)
{
    struct range *range;

    RETURN_UNLESS_READY();
    if (!data)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    range = range_at(address);
    RETURN_UNLOCKED(range ? answer(data, attribute, range, address) : CUDA_ERROR_INVALID_VALUE);
}

/* The bytes of an answer, for those that are not there. */
static size_t size_of(int attribute)
{
    switch (attribute) {
    case POINTER_CONTEXT:
    case POINTER_DEVICE_POINTER:
    case POINTER_HOST_POINTER:
    case POINTER_BUFFER_ID:
    case POINTER_RANGE_START_ADDR:
    case POINTER_RANGE_SIZE:
    case POINTER_ALLOWED_HANDLE_TYPES:
    case POINTER_MEMPOOL_HANDLE:
        return 8;
    default:
        return 4;
    }
}

/* Unlike the question for one attribute, this one knows every pointer: others get zeros. */
EXPORT CUresult cuPointerGetAttributes(unsigned int count, int *attributes, void **data,
                                       CUdeviceptr address)
{
    struct range *range;
    CUresult result = CUDA_SUCCESS;

    RETURN_UNLESS_READY();
    if (!attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    range = range_at(address);
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++) {
        if (!range || answer(data[i], attributes[i], range, address) == CUDA_ERROR_INVALID_VALUE) {
            memset(data[i], 0, size_of(attributes[i]));
            if (attributes[i] == POINTER_DEVICE_ORDINAL)
                *(int *)data[i] = -2; /* CU_DEVICE_INVALID */
        } else {
            result = answer(data[i], attributes[i], range, address);
        }
    }
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuPointerSetAttribute(const void *value, int attribute, CUdeviceptr address)
{
    struct range *range;

    RETURN_UNLESS_READY();
    if (!value || attribute != POINTER_SYNC_MEMOPS)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if ((range = range_at(address)))
        range->sync_memops = *(const unsigned *)value != 0;
    RETURN_UNLOCKED(range ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
