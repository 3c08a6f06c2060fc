/* SPDX-License-Identifier: Apache-2.0 */
#include "context.h"

#include "config.h"
#include "driver.h"
#include "event.h"
#include "ranges.h"
#include "stream.h"

#include <stdlib.h>

enum { STACK = 64 };

static CUcontext first;
static unsigned long long last_number;
/* The thread's stack of contexts; its top is the current one. NULL is a context too: none. */
static _Thread_local CUcontext stack[STACK];
static _Thread_local int depth;

CUcontext context_first(void)
{
    return first;
}

bool context_lives(CUcontext context)
{
    CUcontext other = first;

    while (other && other != context)
        other = other->next;
    return other != NULL;
}

CUresult context_check(CUcontext context)
{
    if (!context_lives(context))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return context->error;
}

CUresult context_current(CUcontext *context)
{
    *context = depth ? stack[depth - 1] : NULL;
    return *context ? context_check(*context) : CUDA_ERROR_INVALID_CONTEXT;
}

void context_fail(CUcontext context, CUresult error)
{
    if (context->error == CUDA_SUCCESS)
        context->error = error;
}

CUcontext context_make(CUdevice device, unsigned flags, bool is_primary)
{
    CUcontext context = calloc(1, sizeof *context);

    if (!context)
        return NULL;
    context->device = device;
    context->flags = flags;
    context->is_primary = is_primary;
    context->number = ++last_number;
    context->next = first;
    return first = context;
}

void context_end(CUcontext context)
{
    CUcontext *link = &first;

    streams_wait_of(context);
    streams_end_of(context);
    events_end_of(context);
    ranges_remove_of(context);
    while (*link != context)
        link = &(*link)->next;
    *link = context->next;
    free(context);
}

EXPORT CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    RETURN_UNLESS_READY();
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= config()->devices)
        return CUDA_ERROR_INVALID_DEVICE;
    if (depth == STACK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    driver_lock();
    *context = context_make(device, flags, false);
    if (*context)
        stack[depth++] = *context;
    RETURN_UNLOCKED(*context ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

/* Execution affinity and capture in other APIs' queues are not there. */
EXPORT CUresult cuCtxCreate_v4(CUcontext *context, const void *parameters, unsigned int flags,
                               CUdevice device)
{
    RETURN_UNLESS_READY();
    return parameters ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(context, flags, device);
}

EXPORT CUresult cuCtxDestroy_v2(CUcontext context)
{
    RETURN_UNLESS_READY();
    driver_lock();
    if (!context_lives(context) || context->is_primary)
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_CONTEXT);
    if (depth && stack[depth - 1] == context)
        depth--;
    context_end(context);
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    CUresult result = CUDA_SUCCESS;

    RETURN_UNLESS_READY();
    driver_lock();
    if (!context_lives(context))
        result = CUDA_ERROR_INVALID_CONTEXT;
    else if (depth == STACK)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    else
        stack[depth++] = context;
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    RETURN_UNLESS_READY();
    if (!depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    depth--;
    if (context)
        *context = stack[depth];
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
    CUresult result = CUDA_SUCCESS;

    RETURN_UNLESS_READY();
    driver_lock();
    if (context && !context_lives(context))
        result = CUDA_ERROR_INVALID_CONTEXT;
    else if (!context)
        depth = depth ? depth - 1 : 0;
    else if (depth)
        stack[depth - 1] = context;
    else
        stack[depth++] = context;
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *context)
{
    RETURN_UNLESS_READY();
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    *context = depth ? stack[depth - 1] : NULL;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
    CUcontext context;
    CUresult result;

    RETURN_UNLESS_READY();
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if ((result = context_current(&context)) == CUDA_SUCCESS)
        *device = context->device;
    RETURN_UNLOCKED(result);
}

/* Of the context that is given, or the current one. */
static CUresult check_or_current(CUcontext *context)
{
    return *context ? context_check(*context) : context_current(context);
}

EXPORT CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context)
{
    CUresult result;

    RETURN_UNLESS_READY();
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if ((result = check_or_current(&context)) == CUDA_SUCCESS)
        *device = context->device;
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuCtxGetId(CUcontext context, unsigned long long *number)
{
    CUresult result;

    RETURN_UNLESS_READY();
    if (!number)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if ((result = check_or_current(&context)) == CUDA_SUCCESS)
        *number = context->number;
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuCtxGetFlags(unsigned int *flags)
{
    CUcontext context;
    CUresult result;

    RETURN_UNLESS_READY();
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if ((result = context_current(&context)) == CUDA_SUCCESS)
        *flags = context->flags;
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *version)
{
    CUresult result;

    RETURN_UNLESS_READY();
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if ((result = check_or_current(&context)) == CUDA_SUCCESS)
        *version = 3020;
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuCtxSynchronize_v2(CUcontext context)
{
    CUresult result;

    RETURN_UNLESS_READY();
    driver_lock();
    if ((result = check_or_current(&context)) == CUDA_SUCCESS) {
        streams_wait_of(context);
        result = context->error;
    }
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuCtxSynchronize(void)
{
    return cuCtxSynchronize_v2(NULL);
}
