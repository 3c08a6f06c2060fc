/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include "context.h"
#include "driver.h"

#include <stdlib.h>

static unsigned long long last_number = 2; /* 1 and 2 are the default streams' */

static void end(struct stream *stream)
{
    work_put(stream->last);
    pthread_cond_destroy(&stream->has_work);
    free(stream);
}

static void *worker(void *argument)
{
    struct stream *stream = argument;

    driver_lock();
    for (;;) {
        struct work *work = stream->head;

        if (!work && stream->is_destroyed)
            break;
        if (!work) {
            pthread_cond_wait(&stream->has_work, driver_mutex());
            continue;
        }
        CUresult result = work_perform(work);
        if (result != CUDA_SUCCESS && stream->context)
            context_fail(stream->context, result);
        stream->head = work->next;
        if (!stream->head)
            stream->tail = NULL;
        work->next = NULL;
        work_put(work);
    }
    end(stream);
    driver_unlock();
    return NULL;
}

static struct stream *make(CUcontext context, unsigned flags, int priority)
{
    struct stream *stream = calloc(1, sizeof *stream);
    pthread_attr_t attributes;
    pthread_t thread;
    int failed;

    if (!stream)
        return NULL;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->number = ++last_number;
    pthread_cond_init(&stream->has_work, NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    failed = pthread_create(&thread, &attributes, worker, stream);
    pthread_attr_destroy(&attributes);
    if (failed) {
        end(stream);
        return NULL;
    }
    stream->next = context->streams;
    context->streams = stream;
    return stream;
}

struct stream *stream_legacy(CUcontext context)
{
    struct stream *stream = context->streams;

    while (stream && !stream->is_legacy)
        stream = stream->next;
    if (!stream && (stream = make(context, 0, 0)))
        stream->is_legacy = true;
    return stream;
}

struct stream *stream_collector(CUcontext context)
{
    struct stream *stream = context->streams;

    while (stream && !stream->is_collector)
        stream = stream->next;
    if (!stream && (stream = make(context, STREAM_NON_BLOCKING, 0)))
        stream->is_collector = true;
    return stream;
}

static struct stream *per_thread(CUcontext context)
{
    struct stream *stream = context->streams;

    while (stream && !(stream->is_per_thread && pthread_equal(stream->thread, pthread_self())))
        stream = stream->next;
    if (!stream && (stream = make(context, 0, 0))) {
        stream->is_per_thread = true;
        stream->thread = pthread_self();
    }
    return stream;
}

struct stream *stream_find(CUstream handle, CUresult *result)
{
    CUcontext context;
    struct stream *found;

    if (handle == NULL || handle == STREAM_LEGACY || handle == STREAM_PER_THREAD) {
        if ((*result = context_current(&context)) != CUDA_SUCCESS)
            return NULL;
        found = handle == STREAM_PER_THREAD ? per_thread(context) : stream_legacy(context);
        *result = found ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        return found;
    }
    /* A stream knows its context, which need not be the current one. */
    for (context = context_first(); context; context = context->next)
        for (found = context->streams; found; found = found->next)
            if (found == handle) {
                *result = context->error;
                return *result == CUDA_SUCCESS ? found : NULL;
            }
    *result = CUDA_ERROR_INVALID_HANDLE;
    return NULL;
}

static void dispose(struct work *work)
{
    if (work->dispose)
        work->dispose(work->argument);
    work_put(work);
}

/*
 * The rules of the legacy default stream: its work begins when all that was enqueued before in
 * blocking streams is done, and work of those when all that was enqueued there before is.
 */
static bool follow_legacy_rules(struct stream *stream, struct work *work)
{
    bool enough = true;

    if (!stream->is_legacy && (stream->flags & STREAM_NON_BLOCKING))
        return true;
    for (struct stream *other = stream->context->streams; other; other = other->next) {
        bool is_blocking = !(other->flags & STREAM_NON_BLOCKING);

        if (other != stream && is_blocking && (stream->is_legacy || other->is_legacy))
            enough = enough && work_needs(work, other->last);
    }
    return enough;
}

CUresult stream_enqueue(struct stream *stream, struct work *work)
{
    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!follow_legacy_rules(stream, work)) {
        dispose(work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    work_put(stream->last);
    stream->last = work_hold(work);
    if (stream->tail)
        stream->tail->next = work;
    else
        stream->head = work;
    stream->tail = work;
    pthread_cond_signal(&stream->has_work);
    return CUDA_SUCCESS;
}

CUresult stream_wait(struct stream *stream)
{
    CUcontext context = stream->context;
    CUresult result = stream_enqueue(stream, work_make(NULL, NULL, NULL));

    if (result != CUDA_SUCCESS)
        return result;
    work_wait(stream->last);
    return context->error;
}

void streams_wait_of(CUcontext context)
{
    bool waited = true;

    /* From the beginning again after each wait, in which streams may come and go. */
    while (waited) {
        waited = false;
        for (struct stream *stream = context->streams; stream && !waited; stream = stream->next)
            if (stream->last && !stream->last->done) {
                work_wait(stream->last);
                waited = true;
            }
    }
}

void streams_end_of(CUcontext context)
{
    while (context->streams) {
        struct stream *stream = context->streams;

        context->streams = stream->next;
        stream->context = NULL;
        stream->is_destroyed = true;
        pthread_cond_signal(&stream->has_work);
    }
}

EXPORT CUresult cuStreamCreateWithPriority(CUstream *handle, unsigned int flags, int priority)
{
    CUcontext context;
    CUresult result;

    RETURN_UNLESS_READY();
    if (!handle || (flags & ~(unsigned)STREAM_NON_BLOCKING))
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if ((result = context_current(&context)) == CUDA_SUCCESS) {
        *handle = make(context, flags, priority);
        result = *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuStreamCreate(CUstream *handle, unsigned int flags)
{
    return cuStreamCreateWithPriority(handle, flags, 0);
}

EXPORT CUresult cuStreamDestroy_v2(CUstream handle)
{
    CUresult result;
    struct stream *stream, **link;

    RETURN_UNLESS_READY();
    if (handle == NULL || handle == STREAM_LEGACY || handle == STREAM_PER_THREAD)
        return CUDA_ERROR_INVALID_HANDLE;
    driver_lock();
    if ((stream = stream_find(handle, &result))) {
        link = &stream->context->streams;
        while (*link != stream)
            link = &(*link)->next;
        *link = stream->next;
        stream->is_destroyed = true;
        stream->next = NULL;
        pthread_cond_signal(&stream->has_work);
    }
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuStreamSynchronize(CUstream handle)
{
    CUresult result;
    struct stream *stream;

    RETURN_UNLESS_READY();
    driver_lock();
    if ((stream = stream_find(handle, &result)))
        result = stream_wait(stream);
    RETURN_UNLOCKED(result);
}

EXPORT CUresult cuStreamQuery(CUstream handle)
{
    CUresult result;
    struct stream *stream;

    RETURN_UNLESS_READY();
    driver_lock();
    if ((stream = stream_find(handle, &result)) && stream->last && !stream->last->done)
        result = CUDA_ERROR_NOT_READY;
    RETURN_UNLOCKED(result);
}

/* What a stream knows of itself: a function of this form for each question. */
#define QUESTION(name, type, value)                                                                \
    EXPORT CUresult name(CUstream handle, type *answer)                                            \
    {                                                                                              \
        CUresult result;                                                                           \
        struct stream *stream;                                                                     \
                                                                                                   \
        RETURN_UNLESS_READY();                                                                     \
        if (!answer)                                                                               \
            return CUDA_ERROR_INVALID_VALUE;                                                       \
        driver_lock();                                                                             \
        if ((stream = stream_find(handle, &result)))                                               \
            *answer = (value);                                                                     \
        RETURN_UNLOCKED(result);                                                                   \
    }

QUESTION(cuStreamGetCtx, CUcontext, stream->context)
QUESTION(cuStreamGetDevice, CUdevice, stream->context->device)
QUESTION(cuStreamGetFlags, unsigned int, stream->flags)
QUESTION(cuStreamGetPriority, int, stream->priority)
QUESTION(cuStreamGetId, unsigned long long, stream->number)

EXPORT CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *context, void **green)
{
    if (green)
        *green = NULL;
    return cuStreamGetCtx(handle, context);
}

EXPORT CUresult cuStreamIsCapturing(CUstream handle, int *status)
{
    CUresult result;

    RETURN_UNLESS_READY();
    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if (stream_find(handle, &result))
        *status = 0; /* CU_STREAM_CAPTURE_STATUS_NONE: there are no graphs */
    RETURN_UNLOCKED(result);
}
