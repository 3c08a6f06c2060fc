/* SPDX-License-Identifier: Apache-2.0 */
/* A flag that threads wait for: what fences and events are made of. */
#pragma once

#include <level_zero/ze_api.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct waitable {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_set;
    ze_result_t result; /* of the work that set it */
    uint64_t set_at_ns;
};

void waitable_init(struct waitable *waitable, bool is_set);
/* In a forked child, where no thread waits: new locks, the same state. */
void waitable_restart(struct waitable *waitable);
void waitable_destroy(struct waitable *waitable);
void waitable_set(struct waitable *waitable, ze_result_t result);
void waitable_reset(struct waitable *waitable);

/*
 * Wait until it is set; timeout_ns as everywhere in Level Zero: 0 only looks, UINT64_MAX waits for
 * ever. Gives the result of the work, or ZE_RESULT_NOT_READY.
 */
ze_result_t waitable_wait(struct waitable *waitable, uint64_t timeout_ns);

/* pthread_cond_init() for waits with a deadline of deadline_in(). */
void condition_init(pthread_cond_t *condition);

/* The point in time `timeout_ns` from now; false if that is never. */
bool deadline_in(uint64_t timeout_ns, struct timespec *deadline);

uint64_t now_ns(void);
