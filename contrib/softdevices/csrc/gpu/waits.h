/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTGPU_WAITS_H
#define SOFTGPU_WAITS_H

#include "layer.h"

/* Waits until a command has ended that was just enqueued with `result`, and whose event is `own`.
 * The event goes to `event`, if that is not NULL and all went well. Gives the status of a blocking
 * command. */
cl_int softgpu_await(cl_int result, cl_event own, cl_event *event);

/* Waits until all commands of a queue have ended. */
cl_int softgpu_await_queue(cl_command_queue queue);

/* Enclose a call of the runtime that waits, and cannot be replaced by a sleep. */
void softgpu_enter_arena(void);
void softgpu_leave_arena(void);

/* Comes before the last reference to a queue goes. A command is ended, and those who wait for it go
 * on, while the runtime still takes it down. Where the queue is gone by then, the command takes
 * down the list of commands too, which waits for the end of all of them, this one as well. */
void softgpu_let_queue_end(cl_command_queue queue);

#endif
