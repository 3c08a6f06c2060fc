/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command queue: a thread that runs submissions in order.
 *
 * Submissions always run on that thread, as they would on a device, and SOFTNPU_DELAY_US makes
 * them late. What a command list holds is copied when it is submitted.
 */
#pragma once

#include "command.h"
#include "fence.h"

struct queue;

/* A queue that is known by its handle, until queue_finish(); NULL without memory. */
struct queue *queue_create(struct context *context, ze_command_queue_mode_t mode);

/* Run copies of `commands`, then set `fence` (or NULL). Waits if the queue is a synchronous one. */
ze_result_t queue_submit(struct queue *queue, const struct commands *commands, struct fence *fence);

/* Wait until all submissions have run; gives the first failure since the last call. */
ze_result_t queue_wait(struct queue *queue, uint64_t timeout_ns);

/* Around fork(): no queue is made or ends meanwhile. */
void queues_lock(void);
void queues_unlock(void);
/* In the child, between the two: every queue is idle, and starts a thread with its next work. */
void queues_restart(void);

/* Destroy the handle, let all submissions run and end the thread. */
ze_result_t queue_finish(struct queue *queue);
