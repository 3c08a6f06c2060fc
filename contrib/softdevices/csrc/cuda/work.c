/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include "driver.h"

#include <stdlib.h>

struct work *work_make(CUresult (*run)(void *), void (*dispose)(void *), void *argument)
{
    struct work *work = calloc(1, sizeof *work);

    if (!work)
        return NULL;
    work->references = 1;
    work->run = run;
    work->dispose = dispose;
    work->argument = argument;
    return work;
}

bool work_needs(struct work *work, struct work *other)
{
    struct work **more;

    if (!other || other->done)
        return true;
    more = realloc(work->needs, (work->count + 1) * sizeof *more);
    if (!more)
        return false;
    work->needs = more;
    work->needs[work->count++] = work_hold(other);
    return true;
}

struct work *work_hold(struct work *work)
{
    if (work)
        work->references++;
    return work;
}

void work_put(struct work *work)
{
    if (!work || --work->references)
        return;
    for (size_t i = 0; i < work->count; i++)
        work_put(work->needs[i]);
    free(work->needs);
    free(work);
}

void work_wait(struct work *work)
{
    work_hold(work);
    while (work && !work->done)
        driver_wait();
    work_put(work);
}

CUresult work_perform(struct work *work)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < work->count; i++)
        work_wait(work->needs[i]);
    if (work->run) {
        driver_unlock();
        result = work->run(work->argument);
        driver_lock();
    }
    if (work->dispose)
        work->dispose(work->argument);
    /* What was needed is not needed any longer: else every piece of work would keep all before. */
    while (work->count)
        work_put(work->needs[--work->count]);
    clock_gettime(CLOCK_MONOTONIC, &work->ended);
    work->done = true;
    driver_work_done();
    return result;
}
