/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the program that streams call. */
#include "driver.h"
#include "stream.h"

#include <stdlib.h>

struct call {
    CUhostFn function;
    CUstreamCallback callback; /* in place of `function` */
    CUstream stream;
    void *data;
};

static CUresult run(void *argument)
{
    struct call *call = argument;

    driver_in_host_function(true);
    if (call->callback)
        call->callback(call->stream, CUDA_SUCCESS, call->data);
    else
        call->function(call->data);
    driver_in_host_function(false);
    return CUDA_SUCCESS;
}

static CUresult enqueue(CUstream handle, struct call wanted)
{
    struct call *call;
    struct stream *stream;
    CUresult result;

    RETURN_UNLESS_READY();
    driver_lock();
    if (!(stream = stream_find(handle, &result)))
        RETURN_UNLOCKED(result);
    if (!(call = malloc(sizeof *call)))
        RETURN_UNLOCKED(CUDA_ERROR_OUT_OF_MEMORY);
    *call = wanted;
    RETURN_UNLOCKED(stream_enqueue(stream, work_make(run, free, call)));
}

EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    return enqueue(stream, (struct call){.function = function, .data = data});
}

EXPORT CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data,
                                    unsigned int flags)
{
    if (!callback || flags)
        return CUDA_ERROR_INVALID_VALUE;
    return enqueue(stream, (struct call){.callback = callback, .stream = stream, .data = data});
}
