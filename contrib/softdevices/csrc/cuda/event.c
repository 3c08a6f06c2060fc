/* SPDX-License-Identifier: Apache-2.0 */
#include "event.h"

#include "context.h"
#include "driver.h"
#include "stream.h"

#include <stdlib.h>

/* CU_EVENT_* flags of cuEventCreate: blocking sync, no timing, between processes. */
enum { EVENT_BLOCKING_SYNC = 1, EVENT_DISABLE_TIMING = 2, EVENT_FLAGS = 7 };

struct event {
    struct event *next; /* in its context */
    CUcontext context;
    unsigned flags;
    struct work *work; /* it is complete when this is done; NULL before it is recorded */
};

static struct event *find(CUevent handle, CUresult *result)
{
    for (CUcontext context = context_first(); context; context = context->next)
        for (struct event *event = context->events; event; event = event->next)
            if (event == handle) {
                *result = context->error;
                return *result == CUDA_SUCCESS ? event : NULL;
            }
    *result = CUDA_ERROR_INVALID_HANDLE;
    return NULL;
}

static void end(struct event *event)
{
    work_put(event->work);
    free(event);
}

void events_end_of(CUcontext context)
{
    while (context->events) {
        struct event *event = context->events;

        context->events = event->next;
        end(event);
    }
}

unsigned events_count(CUcontext context)
{
    unsigned count = 0;

    for (struct event *event = context->events; event; event = event->next)
        count++;
    return count;
}

EXPORT CUresult cuEventCreate(CUevent *handle, unsigned int flags)
{
    CUcontext context;
    CUresult result;
    struct event *event;

    RETURN_UNLESS_READY();
    if (!handle || (flags & ~(unsigned)EVENT_FLAGS))
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if ((result = context_current(&context)) != CUDA_SUCCESS)
        RETURN_UNLOCKED(result);
    if (!(event = calloc(1, sizeof *event)))
        RETURN_UNLOCKED(CUDA_ERROR_OUT_OF_MEMORY);
    event->context = context;
    event->flags = flags;
    event->next = context->events;
    *handle = context->events = event;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuEventDestroy_v2(CUevent handle)
{
    CUresult result;
    struct event *event, **link;

    RETURN_UNLESS_READY();
    driver_lock();
    if ((event = find(handle, &result))) {
        link = &event->context->events;
        while (*link != event)
            link = &(*link)->next;
        *link = event->next;
        end(event);
    }
    RETURN_UNLOCKED(result);
}

/* The event captures `work`, whose reference it takes. */
static void capture(struct event *event, struct work *work)
{
    work_put(event->work);
    event->work = work;
}

EXPORT CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned int flags)
{
    CUresult result;
    struct event *event;
    struct stream *stream;
    struct work *mark;

    (void)flags;
    RETURN_UNLESS_READY();
    driver_lock();
    if (!(event = find(handle, &result)) || !(stream = stream_find(stream_handle, &result)))
        RETURN_UNLOCKED(result);
    if (event->context != stream->context)
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_HANDLE);
    mark = work_make(NULL, NULL, NULL);
    if ((result = stream_enqueue(stream, mark)) == CUDA_SUCCESS)
        capture(event, work_hold(mark));
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuEventRecord(CUevent handle, CUstream stream)
{
    return cuEventRecordWithFlags(handle, stream, 0);
}

/* The newest work of all streams of the context. */
EXPORT CUresult cuCtxRecordEvent(CUcontext context, CUevent handle)
{
    CUresult result;
    struct event *event;
    struct work *all;
    struct stream *collector;

    RETURN_UNLESS_READY();
    driver_lock();
    if ((result = context_check(context)) != CUDA_SUCCESS || !(event = find(handle, &result)))
        RETURN_UNLOCKED(result);
    if (event->context != context)
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_HANDLE);
    all = work_make(NULL, NULL, NULL);
    collector = all ? stream_collector(context) : NULL;
    if (!collector) {
        work_put(all);
        RETURN_UNLOCKED(CUDA_ERROR_OUT_OF_MEMORY);
    }
    for (struct stream *stream = context->streams; stream; stream = stream->next)
        work_needs(all, stream->last);
    work_hold(all);
    if ((result = stream_enqueue(collector, all)) == CUDA_SUCCESS)
        capture(event, all);
    else
        work_put(all);
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned int flags)
{
    CUresult result;
    struct event *event;
    struct stream *stream;
    struct work *mark;

    (void)flags;
    RETURN_UNLESS_READY();
    driver_lock();
    if (!(event = find(handle, &result)) || !(stream = stream_find(stream_handle, &result)))
        RETURN_UNLOCKED(result);
    mark = work_make(NULL, NULL, NULL);
    if (mark && !work_needs(mark, event->work)) {
        work_put(mark);
        mark = NULL;
    }
    RETURN_UNLOCKED(stream_enqueue(stream, mark));
}

EXPORT CUresult cuEventQuery(CUevent handle)
{
    CUresult result;
    struct event *event;

    RETURN_UNLESS_READY();
    driver_lock();
    if ((event = find(handle, &result)) && event->work && !event->work->done)
        result = CUDA_ERROR_NOT_READY;
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuEventSynchronize(CUevent handle)
{
    CUresult result;
    struct event *event;

    RETURN_UNLESS_READY();
    driver_lock();
    if ((event = find(handle, &result))) {
        CUcontext context = event->context;

        work_wait(event->work);
        result = context_check(context);
    }
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent first, CUevent second)
{
    CUresult result;
    struct event *from, *to;

    RETURN_UNLESS_READY();
    if (!milliseconds)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if (!(from = find(first, &result)) || !(to = find(second, &result)))
        RETURN_UNLOCKED(result);
    if (!from->work || !to->work || ((from->flags | to->flags) & EVENT_DISABLE_TIMING))
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_HANDLE);
    if (!from->work->done || !to->work->done)
        RETURN_UNLOCKED(CUDA_ERROR_NOT_READY);
    *milliseconds = (float)(to->work->ended.tv_sec - from->work->ended.tv_sec) * 1e3F +
                    (float)(to->work->ended.tv_nsec - from->work->ended.tv_nsec) / 1e6F;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}
