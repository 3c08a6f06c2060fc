/* SPDX-License-Identifier: Apache-2.0 */
#include "waitable.h"

#define SECOND_NS 1000000000ull
/* Longer than any program runs: such a timeout waits forever, and its sum cannot overflow. */
#define FOR_EVER_NS (1000000ull * SECOND_NS)

void condition_init(pthread_cond_t *condition)
{
    /* Against the monotonic clock, so that setting the computer's time ends no wait. */
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool deadline_in(uint64_t timeout_ns, struct timespec *deadline)
{
    if (timeout_ns >= FOR_EVER_NS)
        return false;
    clock_gettime(CLOCK_MONOTONIC, deadline);
    uint64_t nanoseconds = (uint64_t)deadline->tv_nsec + timeout_ns % SECOND_NS;
    deadline->tv_sec += (time_t)(timeout_ns / SECOND_NS + nanoseconds / SECOND_NS);
    deadline->tv_nsec = (long)(nanoseconds % SECOND_NS);
    return true;
}

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

void waitable_restart(struct waitable *waitable)
{
    pthread_mutex_init(&waitable->mutex, NULL);
    condition_init(&waitable->changed);
}

void waitable_init(struct waitable *waitable, bool is_set)
{
    waitable_restart(waitable);
    waitable->is_set = is_set;
    waitable->result = ZE_RESULT_SUCCESS;
    waitable->set_at_ns = 0;
}

void waitable_destroy(struct waitable *waitable)
{
    pthread_cond_destroy(&waitable->changed);
    pthread_mutex_destroy(&waitable->mutex);
}

void waitable_set(struct waitable *waitable, ze_result_t result)
{
    pthread_mutex_lock(&waitable->mutex);
    waitable->is_set = true;
    waitable->result = result;
    waitable->set_at_ns = now_ns();
    pthread_cond_broadcast(&waitable->changed);
    pthread_mutex_unlock(&waitable->mutex);
}

void waitable_reset(struct waitable *waitable)
{
    pthread_mutex_lock(&waitable->mutex);
    waitable->is_set = false;
    waitable->result = ZE_RESULT_SUCCESS;
    pthread_mutex_unlock(&waitable->mutex);
}

ze_result_t waitable_wait(struct waitable *waitable, uint64_t timeout_ns)
{
    struct timespec deadline;
    const bool ends = deadline_in(timeout_ns, &deadline);
    int error = 0;

    pthread_mutex_lock(&waitable->mutex);
    while (!waitable->is_set && timeout_ns > 0 && error == 0)
        error = ends ? pthread_cond_timedwait(&waitable->changed, &waitable->mutex, &deadline)
                     : pthread_cond_wait(&waitable->changed, &waitable->mutex);
    ze_result_t result = waitable->is_set ? waitable->result : ZE_RESULT_NOT_READY;
    pthread_mutex_unlock(&waitable->mutex);
    return result;
}
