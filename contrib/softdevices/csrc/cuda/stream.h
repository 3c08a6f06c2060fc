/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: a queue of work and the thread that does it. All functions need the driver's lock. */
#pragma once

#include "cuda_abi.h"
#include "work.h"

#include <pthread.h>
#include <stdbool.h>

struct stream {
    struct stream *next; /* in its context */
    CUcontext context;
    unsigned flags;
    int priority;
    bool is_legacy;
    bool is_collector;
    bool is_per_thread; /* the default stream of `thread` */
    bool is_destroyed;  /* nobody finds it; it ends when its work is done */
    pthread_t thread;
    unsigned long long number;
    pthread_cond_t has_work;
    struct work *head; /* what is to be done; each has a reference */
    struct work *tail;
    struct work *last; /* the newest, done or not; has a reference too */
};

/* The stream of a handle in the current context: NULL, the default streams or one that was made.
 * On failure, `result` says why. */
struct stream *stream_find(CUstream handle, CUresult *result);

/* The legacy default stream of a context; NULL without memory. */
struct stream *stream_legacy(CUcontext context);

/* A stream of the driver's own, in which cuCtxRecordEvent() waits for all others. */
struct stream *stream_collector(CUcontext context);

/* Enqueue the work, whose reference goes to the stream. It is disposed of if that fails. */
CUresult stream_enqueue(struct stream *stream, struct work *work);

/* Wait until all that was enqueued there is done. */
CUresult stream_wait(struct stream *stream);

/* Wait until all work of a context is done. */
void streams_wait_of(CUcontext context);
/* End all streams of a context, whose work is done. */
void streams_end_of(CUcontext context);
