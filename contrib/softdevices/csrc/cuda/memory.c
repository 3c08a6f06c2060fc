/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of devices, pinned memory of the host, managed memory, and registered memory. */
#include "config.h"
#include "context.h"
#include "driver.h"
#include "ranges.h"
#include "stream.h"

#include <stdlib.h>

/* What rows of cuMemAllocPitch() are padded to. */
enum { PITCH = 512 };

static struct range *allocate(enum range_kind kind, size_t size, CUcontext context)
{
    bool for_cpu = kind != RANGE_DEVICE;
    struct pages *pages;
    struct range *range;
    void *address;

    if (kind != RANGE_PINNED && size > config()->memory - ranges_bytes_on(context->device))
        return NULL;
    if (!(pages = pages_make(size)))
        return NULL;
    address = pages_map(pages, 0, pages->size, NULL, for_cpu);
    range = address ? range_add(kind, (uintptr_t)address, size) : NULL;
    if (!range) {
        pages_put(pages);
        return NULL;
    }
    range->bytes = pages->bytes;
    range->pages = pages;
    range->context = context;
    range->device = context->device;
    return range;
}

/* The current context, in a call that may wait for the device. */
static CUresult current_when_idle(CUcontext *context)
{
    CUresult result = context_current(context);

    if (result == CUDA_SUCCESS && config()->waits) {
        streams_wait_of(*context);
        result = context_check(*context);
    }
    return result;
}

static CUresult allocate_into(enum range_kind kind, size_t size, unsigned flags, uintptr_t *address)
{
    CUcontext context;
    CUresult result;
    struct range *range;

    RETURN_UNLESS_READY();
    if (!size)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if ((result = current_when_idle(&context)) != CUDA_SUCCESS)
        RETURN_UNLOCKED(result);
    if (!(range = allocate(kind, size, context)))
        RETURN_UNLOCKED(CUDA_ERROR_OUT_OF_MEMORY);
    range->flags = flags;
    *address = range->address;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

/* Without SOFTCUDA_WAITS, nothing is waited for: work that still uses the memory fails, with ILLEGAL_ADDRESS. */
static CUresult release(uintptr_t address, unsigned kinds)
{
    CUcontext context;
    CUresult result;
    struct range *range;

    RETURN_UNLESS_READY();
    driver_lock();
    if ((result = current_when_idle(&context)) != CUDA_SUCCESS)
        RETURN_UNLOCKED(result);
    range = range_at(address);
    if (!range || range->address != address || !(kinds & 1U << range->kind))
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    range_remove(range);
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
    return address ? allocate_into(RANGE_DEVICE, size, 0, address) : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                                   unsigned int element)
{
    size_t row = (width + PITCH - 1) / PITCH * PITCH;
    CUresult result;

    if (!address || !pitch || !width || !height || row < width || height > SIZE_MAX / row)
        return CUDA_ERROR_INVALID_VALUE;
    if (element != 4 && element != 8 && element != 16)
        return CUDA_ERROR_INVALID_VALUE;
    result = allocate_into(RANGE_DEVICE, row * height, 0, address);
    if (result == CUDA_SUCCESS)
        *pitch = row;
    return result;
}

EXPORT CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned int flags)
{
    if (!address || (flags != 1 && flags != 2)) /* CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST */
        return CUDA_ERROR_INVALID_VALUE;
    return allocate_into(RANGE_MANAGED, size, flags, address);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr address)
{
    if (!address)
        return driver_ready();
    return release(address, 1U << RANGE_DEVICE | 1U << RANGE_MANAGED | 1U << RANGE_EXTERNAL);
}

EXPORT CUresult cuMemHostAlloc(void **address, size_t size, unsigned int flags)
{
    uintptr_t number = 0;
    CUresult result;

    if (!address || flags > 7)
        return CUDA_ERROR_INVALID_VALUE;
    result = allocate_into(RANGE_PINNED, size, flags, &number);
    *address = (void *)number;
    return result;
}

EXPORT CUresult cuMemAllocHost_v2(void **address, size_t size)
{
    return cuMemHostAlloc(address, size, 0);
}

EXPORT CUresult cuMemFreeHost(void *address)
{
    return release((uintptr_t)address, 1U << RANGE_PINNED);
}

EXPORT CUresult cuMemHostRegister_v2(void *address, size_t size, unsigned int flags)
{
    CUcontext context;
    CUresult result;
    struct range *range;

    RETURN_UNLESS_READY();
    if (!address || !size || flags > 15 || (flags & MEMHOSTREGISTER_IOMEMORY))
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if ((result = current_when_idle(&context)) != CUDA_SUCCESS)
        RETURN_UNLOCKED(result);
    if (range_touches((uintptr_t)address, size))
        RETURN_UNLOCKED(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    if (!(range = range_add(RANGE_REGISTERED, (uintptr_t)address, size)))
        RETURN_UNLOCKED(CUDA_ERROR_OUT_OF_MEMORY);
    range->bytes = address;
    range->context = context;
    range->device = context->device;
    range->flags = flags;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuMemHostUnregister(void *address)
{
    CUcontext context;
    CUresult result;
    struct range *range;

    RETURN_UNLESS_READY();
    driver_lock();
    if ((result = current_when_idle(&context)) != CUDA_SUCCESS)
        RETURN_UNLOCKED(result);
    if (!(range = range_from((uintptr_t)address, RANGE_REGISTERED)))
        RETURN_UNLOCKED(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    range_remove(range);
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

static struct range *host_range(const void *address)
{
    struct range *range = range_at((uintptr_t)address);

    return range && (range->kind == RANGE_PINNED || range->kind == RANGE_REGISTERED) ? range : NULL;
}

EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *address, unsigned int flags)
{
    struct range *range;

    RETURN_UNLESS_READY();
    if (!device || flags)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    range = host_range(address);
    if (range || config()->pageable)
        *device = (uintptr_t)address;
    RETURN_UNLOCKED(range || config()->pageable ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

EXPORT CUresult cuMemHostGetFlags(unsigned int *flags, void *address)
{
    struct range *range;

    RETURN_UNLESS_READY();
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if ((range = host_range(address)))
        *flags = range->flags;
    RETURN_UNLOCKED(range ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    CUcontext context;
    CUresult result;

    RETURN_UNLESS_READY();
    if (!free_bytes || !total)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if ((result = context_current(&context)) == CUDA_SUCCESS) {
        *total = config()->memory;
        *free_bytes = *total - ranges_bytes_on(context->device);
    }
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    struct range *range;

    RETURN_UNLESS_READY();
    driver_lock();
    range = range_at(address);
    if (!range || range->kind == RANGE_REGISTERED)
        RETURN_UNLOCKED(CUDA_ERROR_NOT_FOUND);
    if (base)
        *base = range->address;
    if (size)
        *size = range->size;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}
