/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work: what a stream does, one piece after another, on a thread of its own.
 *
 * A piece of work begins when the one before it in its stream is done, and all others that it needs:
 * those that an event captured, and those of the rules of the legacy default stream. As work needs
 * only work that was enqueued before it, nothing ever waits in a circle.
 *
 * Nothing runs before its turn, however short: a program that forgets to wait or to order reads old
 * bytes here, as on hardware.
 */
#pragma once

#include "cuda_abi.h"

#include <stdbool.h>
#include <time.h>

struct work {
    unsigned references;
    bool done;
    CUresult (*run)(void *argument); /* without the driver's lock; NULL for a mark */
    void (*dispose)(void *argument); /* under the lock, when it was run; may be NULL */
    void *argument;
    struct work **needs;
    size_t count;
    struct work *next; /* in its stream */
    struct timespec ended;
};

/* New work, of which the caller has the only reference; NULL without memory. */
struct work *work_make(CUresult (*run)(void *), void (*dispose)(void *), void *argument);
/* It will wait for `other`, if that is not NULL and not done. False without memory. */
bool work_needs(struct work *work, struct work *other);

struct work *work_hold(struct work *work);
void work_put(struct work *work);

/* Wait until it is done; NULL is. The lock is given up meanwhile. */
void work_wait(struct work *work);

/* Run it on this thread, which has the lock: wait for what it needs, then run and mark it done. */
CUresult work_perform(struct work *work);
