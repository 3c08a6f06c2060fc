/* SPDX-License-Identifier: Apache-2.0 */
/* One thread of the program at a time waits in the runtime; the others sleep until a callback of the
 * runtime's wakes them.
 *
 * A thread that waits in the runtime works meanwhile: it enters the arena of TBB in which the
 * commands of all queues run. Where the arena is full, its wait becomes a task of the arena, and a
 * thread that runs a command of that very queue may take that task while it waits for a part of the
 * command. Then each waits for the other, for good: two threads with a queue out of order each came
 * to it within some hundred waits (2026.2.0, two cores), in clWaitForEvents, clFinish and blocking
 * commands. A thread alone has its place in the arena. */
#include "waits.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "hooks.h"

enum { LOOKS = 2000, MICROSECONDS_BETWEEN = 100 };

/* One thread that sleeps; it lies on that thread's stack, and is only used with the lock held. */
struct wait {
    cl_uint left;
    bool failed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

/* Held by the thread that waits in the runtime. */
static pthread_mutex_t in_arena = PTHREAD_MUTEX_INITIALIZER;
/* The number of threads that cannot do without that, who come before those that can. */
static atomic_uint in_need;

static bool may_enter_arena(void)
{
    return atomic_load(&in_need) == 0 && pthread_mutex_trylock(&in_arena) == 0;
}

void softgpu_enter_arena(void)
{
    atomic_fetch_add(&in_need, 1);
    pthread_mutex_lock(&in_arena);
    atomic_fetch_sub(&in_need, 1);
}

void softgpu_leave_arena(void)
{
    pthread_mutex_unlock(&in_arena);
}

static void CL_CALLBACK one_ended(cl_event event, cl_int status, void *user)
{
    struct wait *wait = user;

    (void)event;
    pthread_mutex_lock(&lock);
    wait->failed = wait->failed || status < 0;
    if (--wait->left == 0)
        pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
}

/* Sees to it that `wait` hears of the end of an event. */
static cl_int listen(cl_event event, struct wait *wait)
{
    cl_command_queue queue = NULL;
    cl_int result;

    pthread_mutex_lock(&lock);
    wait->left++;
    pthread_mutex_unlock(&lock);
    result = softgpu_below.clSetEventCallback(event, CL_COMPLETE, one_ended, wait);
    if (result != CL_SUCCESS) {
        pthread_mutex_lock(&lock);
        wait->left--;
        pthread_mutex_unlock(&lock);
        return result;
    }
    /* A user event has no queue. */
    if (softgpu_below.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL) ==
            CL_SUCCESS &&
        queue)
        softgpu_below.clFlush(queue);
    return CL_SUCCESS;
}

static bool are_of_one_context(cl_uint count, const cl_event *events)
{
    cl_context first = NULL;

    for (cl_uint i = 0; i < count; i++) {
        cl_context context = NULL;

        softgpu_below.clGetEventInfo(events[i], CL_EVENT_CONTEXT, sizeof context, &context, NULL);
        if (i && context != first)
            return false;
        first = context;
    }
    return true;
}

static cl_int sleep_until_ended(cl_uint count, const cl_event *events)
{
    struct wait wait = {0, false};
    cl_int result = CL_SUCCESS;

    if (!count || !events)
        return CL_INVALID_VALUE;
    if (!are_of_one_context(count, events))
        return CL_INVALID_CONTEXT;
    for (cl_uint i = 0; i < count && result == CL_SUCCESS; i++)
        result = listen(events[i], &wait);
    pthread_mutex_lock(&lock);
    while (wait.left)
        pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
    if (result == CL_SUCCESS && wait.failed)
        result = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return result;
}

cl_int CL_API_CALL softgpu_wait_for_events(cl_uint count, const cl_event *events)
{
    cl_int result;

    if (!may_enter_arena())
        return sleep_until_ended(count, events);
    result = softgpu_below.clWaitForEvents(count, events);
    softgpu_leave_arena();
    return result;
}

cl_int softgpu_await(cl_int result, cl_event own, cl_event *event)
{
    if (result != CL_SUCCESS)
        return result;
    result = softgpu_wait_for_events(1, &own);
    if (result == CL_SUCCESS && event)
        *event = own;
    else
        softgpu_below.clReleaseEvent(own);
    return result;
}

cl_int softgpu_await_queue(cl_command_queue queue)
{
    cl_event end = NULL;
    cl_int result;

    if (may_enter_arena()) {
        result = softgpu_below.clFinish(queue);
        softgpu_leave_arena();
        return result;
    }
    result = softgpu_below.clEnqueueMarkerWithWaitList(queue, 0, NULL, &end);
    if (result != CL_SUCCESS)
        return result;
    result = sleep_until_ended(1, &end);
    softgpu_below.clReleaseEvent(end);
    /* That a command failed is said by its own event. */
    return result == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ? CL_SUCCESS : result;
}

/* Looks for a while whether all commands of a queue have ended: one that waits for an event of the
 * program's may do so after the queue was released. */
static bool ends_soon(cl_command_queue queue)
{
    cl_event end = NULL;
    cl_int status = CL_QUEUED;

    if (softgpu_below.clEnqueueMarkerWithWaitList(queue, 0, NULL, &end) != CL_SUCCESS)
        return false;
    softgpu_below.clFlush(queue);
    for (int i = 0; i < LOOKS && status > CL_COMPLETE; i++) {
        if (i)
            usleep(MICROSECONDS_BETWEEN);
        if (softgpu_below.clGetEventInfo(end, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                         &status, NULL) != CL_SUCCESS)
            break;
    }
    softgpu_below.clReleaseEvent(end);
    return status <= CL_COMPLETE;
}

void softgpu_let_queue_end(cl_command_queue queue)
{
    if (!ends_soon(queue))
        return;
    /* Where another thread waits in the runtime for longer, the commands are gone by then too. */
    for (int i = 0; i < LOOKS; i++) {
        if (pthread_mutex_trylock(&in_arena) == 0) {
            softgpu_below.clFinish(queue);
            softgpu_leave_arena();
            return;
        }
        usleep(MICROSECONDS_BETWEEN);
    }
}
