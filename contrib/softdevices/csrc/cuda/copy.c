/* SPDX-License-Identifier: Apache-2.0 */
/* Copies: all of them are rectangles of rows, most of one row. */
#include "copy.h"

#include "config.h"
#include "context.h"
#include "driver.h"
#include "stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One side of a copy. */
struct side {
    uintptr_t address;
    size_t pitch;
    bool is_device; /* it must be memory of this driver's */
};

struct copy {
    struct side to;
    struct side from;
    size_t width;
    size_t height;
    char *staged; /* the source's bytes, without gaps, where the source may change; or NULL */
};

char *bytes_of(uintptr_t address, size_t size, bool is_device, struct range **range)
{
    struct range *found = range_of(address, size);

    *range = NULL;
    if (found && (found->kind != RANGE_VMM || found->access == MEM_ACCESS_READWRITE)) {
        *range = range_hold(found);
        return found->bytes + (address - found->address);
    }
    if (found || (is_device && !config()->pageable) || range_touches(address, size ? size : 1))
        return NULL;
    return (char *)address;
}

static size_t span(const struct side *side, const struct copy *copy)
{
    return copy->height ? side->pitch * (copy->height - 1) + copy->width : 0;
}

static bool is_there(const struct side *side, const struct copy *copy)
{
    struct range *range;
    char *bytes = bytes_of(side->address, span(side, copy), side->is_device, &range);

    range_put(range);
    return bytes != NULL;
}

static bool is_pageable(const struct side *side)
{
    return !range_at(side->address);
}

/* The stream's part: what was freed since the call is an error of the context. */
static CUresult run(void *argument)
{
    struct copy *copy = argument;
    struct range *to_range, *from_range = NULL;
    size_t from_pitch = copy->staged ? copy->width : copy->from.pitch;
    const char *from = copy->staged;
    char *to;

    driver_lock();
    to = bytes_of(copy->to.address, span(&copy->to, copy), copy->to.is_device, &to_range);
    if (!from)
        from = bytes_of(copy->from.address, span(&copy->from, copy), copy->from.is_device,
                        &from_range);
    driver_unlock();
    if (to && from)
        for (size_t row = 0; row < copy->height; row++)
            memmove(to + row * copy->to.pitch, from + row * from_pitch, copy->width);
    driver_lock();
    range_put(to_range);
    range_put(from_range);
    driver_unlock();
    return to && from ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

static void dispose(void *argument)
{
    struct copy *copy = argument;

    free(copy->staged);
    free(copy);
}

static bool stage(struct copy *copy)
{
    copy->staged = malloc(copy->width * copy->height);
    if (!copy->staged)
        return false;
    for (size_t row = 0; row < copy->height; row++)
        memcpy(copy->staged + row * copy->width,
               (char *)copy->from.address + row * copy->from.pitch, copy->width);
    return true;
}

/*
 * Enqueue a copy, by the rules of CUDA's documentation ("API synchronization behavior"): what comes
 * from pageable memory was read when the call returns, what goes there was written; a copy within
 * devices is never waited for; all others are, unless they are asynchronous.
 */
static CUresult enqueue(const struct copy *wanted, CUstream handle, bool is_async)
{
    bool to_device, from_device, wait;
    struct copy *copy;
    struct stream *stream;
    struct work *work;
    CUcontext context;
    CUresult result;

    RETURN_UNLESS_READY();
    driver_lock();
    if (!(stream = stream_find(handle, &result)))
        RETURN_UNLOCKED(result);
    if (!wanted->width || !wanted->height)
        RETURN_UNLOCKED(CUDA_SUCCESS);
    if ((wanted->height > 1 && (wanted->to.pitch < wanted->width ||
                                wanted->from.pitch < wanted->width)) ||
        !is_there(&wanted->to, wanted) || !is_there(&wanted->from, wanted))
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    if (!(copy = malloc(sizeof *copy)))
        RETURN_UNLOCKED(CUDA_ERROR_OUT_OF_MEMORY);
    *copy = *wanted;
    to_device = !is_pageable(&copy->to) && range_at(copy->to.address)->kind != RANGE_PINNED &&
                range_at(copy->to.address)->kind != RANGE_REGISTERED;
    from_device = !is_pageable(&copy->from) && range_at(copy->from.address)->kind != RANGE_PINNED &&
                  range_at(copy->from.address)->kind != RANGE_REGISTERED;
    wait = is_async ? is_pageable(&copy->to) : !(to_device && from_device);
    if (is_async && is_pageable(&copy->from) && !stage(copy)) {
        dispose(copy);
        RETURN_UNLOCKED(CUDA_ERROR_OUT_OF_MEMORY);
    }
    if (!(work = work_make(run, dispose, copy))) {
        dispose(copy);
        RETURN_UNLOCKED(CUDA_ERROR_OUT_OF_MEMORY);
    }
    work_hold(work);
    context = stream->context;
    result = stream_enqueue(stream, work);
    if (result == CUDA_SUCCESS && wait) {
        work_wait(work);
        result = context_check(context);
    }
    work_put(work);
    RETURN_UNLOCKED(result);
}

static CUresult row(struct side to, struct side from, size_t size, CUstream stream, bool is_async)
{
    struct copy copy = {.to = to, .from = from, .width = size, .height = 1};

    return enqueue(&copy, stream, is_async);
}

static struct side device(CUdeviceptr address)
{
    return (struct side){.address = address, .is_device = true};
}

static struct side host(const void *address)
{
    return (struct side){.address = (uintptr_t)address};
}

EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size)
{
    return row(device(to), host(from), size, NULL, false);
}

EXPORT CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size)
{
    return row(host(to), device(from), size, NULL, false);
}

EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    return row(device(to), device(from), size, NULL, false);
}

EXPORT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    return row(host((void *)to), host((void *)from), size, NULL, false);
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
    return row(device(to), host(from), size, stream, true);
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
    return row(host(to), device(from), size, stream, true);
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    return row(device(to), device(from), size, stream, true);
}

EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    return row(host((void *)to), host((void *)from), size, stream, true);
}

/* One side of a rectangle; false where it lies in an array, which there are none of. */
static bool side_of(struct side *side, int type, uintptr_t on_host, CUdeviceptr on_device, size_t x,
                    size_t y, size_t pitch)
{
    *side = type == MEMORYTYPE_HOST ? host((void *)on_host) : device(on_device);
    side->is_device = type == MEMORYTYPE_DEVICE;
    side->address += y * pitch + x;
    side->pitch = pitch;
    return type == MEMORYTYPE_HOST || type == MEMORYTYPE_DEVICE || type == MEMORYTYPE_UNIFIED;
}

static CUresult rectangle(const CUDA_MEMCPY2D *given, CUstream stream, bool is_async)
{
    struct copy copy = {0};

    if (!given)
        return CUDA_ERROR_INVALID_VALUE;
    copy.width = given->WidthInBytes;
    copy.height = given->Height;
    if (!side_of(&copy.from, given->srcMemoryType, (uintptr_t)given->srcHost, given->srcDevice,
                 given->srcXInBytes, given->srcY, given->srcPitch) ||
        !side_of(&copy.to, given->dstMemoryType, (uintptr_t)given->dstHost, given->dstDevice,
                 given->dstXInBytes, given->dstY, given->dstPitch))
        return CUDA_ERROR_NOT_SUPPORTED;
    return enqueue(&copy, stream, is_async);
}

EXPORT CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
    return rectangle(copy, NULL, false);
}

EXPORT CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
    return rectangle(copy, NULL, false);
}

EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    return rectangle(copy, stream, true);
}
