/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemset*: elements of 1, 2 or 4 bytes, in rows. None is waited for. */
#include "context.h"
#include "copy.h"
#include "driver.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

struct fill {
    uintptr_t address;
    size_t pitch;
    unsigned value;
    size_t element;
    size_t width; /* in elements */
    size_t height;
};

static size_t span(const struct fill *fill)
{
    return fill->pitch * (fill->height - 1) + fill->width * fill->element;
}

static CUresult run(void *argument)
{
    struct fill *fill = argument;
    struct range *range;
    char *bytes;

    driver_lock();
    bytes = bytes_of(fill->address, span(fill), true, &range);
    driver_unlock();
    for (size_t y = 0; bytes && y < fill->height; y++)
        for (size_t x = 0; x < fill->width; x++)
            memcpy(bytes + y * fill->pitch + x * fill->element, &fill->value, fill->element);
    driver_lock();
    range_put(range);
    driver_unlock();
    return bytes ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

static CUresult enqueue(struct fill wanted, CUstream handle)
{
    struct fill *fill;
    struct stream *stream;
    struct range *range;
    CUresult result;

    RETURN_UNLESS_READY();
    driver_lock();
    if (!(stream = stream_find(handle, &result)))
        RETURN_UNLOCKED(result);
    if (!wanted.width || !wanted.height)
        RETURN_UNLOCKED(CUDA_SUCCESS);
    if (wanted.address % wanted.element || !bytes_of(wanted.address, span(&wanted), true, &range))
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    range_put(range);
    if (!(fill = malloc(sizeof *fill)))
        RETURN_UNLOCKED(CUDA_ERROR_OUT_OF_MEMORY);
    *fill = wanted;
    RETURN_UNLOCKED(stream_enqueue(stream, work_make(run, free, fill)));
}

#define FILLS(bits, type)                                                                          \
    EXPORT CUresult cuMemsetD##bits##Async(CUdeviceptr address, type value, size_t count,          \
                                           CUstream stream)                                        \
    {                                                                                              \
        return enqueue((struct fill){address, 0, value, sizeof value, count, 1}, stream);          \
    }                                                                                              \
    EXPORT CUresult cuMemsetD##bits##_v2(CUdeviceptr address, type value, size_t count)            \
    {                                                                                              \
        return cuMemsetD##bits##Async(address, value, count, NULL);                                \
    }                                                                                              \
    EXPORT CUresult cuMemsetD2D##bits##Async(CUdeviceptr address, size_t pitch, type value,        \
                                             size_t width, size_t height, CUstream stream)         \
    {                                                                                              \
        return enqueue((struct fill){address, pitch, value, sizeof value, width, height}, stream); \
    }                                                                                              \
    EXPORT CUresult cuMemsetD2D##bits##_v2(CUdeviceptr address, size_t pitch, type value,          \
                                           size_t width, size_t height)                            \
    {                                                                                              \
        return cuMemsetD2D##bits##Async(address, pitch, value, width, height, NULL);               \
    }

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned int)
