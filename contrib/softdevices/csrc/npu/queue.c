/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include "config.h"
#include "trace.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct submission {
    struct submission *next;
    struct commands commands;
    struct fence *fence;
};

struct queue {
    struct object object;
    struct context *context;
    bool is_synchronous;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t arrived;   /* a submission, or the end */
    pthread_cond_t became_idle;
    struct submission *first, **end;
    bool is_running;       /* a submission that is on the list no more */
    struct fence *running; /* its fence, held; or NULL */
    bool has_thread;
    atomic_bool is_ending;
    ze_result_t failure;
    struct queue *next_alive;
};

/* The queues that have a thread, for the end of the process. */
static struct queue *alive;
static pthread_mutex_t alive_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t handler_once = PTHREAD_ONCE_INIT;

static void free_submission(struct submission *submission)
{
    commands_clear(&submission->commands);
    object_put(submission->fence);
    free(submission);
}

static void delay(void)
{
    const uint64_t microseconds = config()->delay_us;
    struct timespec left = {(time_t)(microseconds / 1000000),
                            (long)(microseconds % 1000000) * 1000};
    while (microseconds && nanosleep(&left, &left) && errno == EINTR)
        continue;
}

static void run_submission(struct queue *queue, struct submission *submission)
{
    delay();
    ze_result_t result = commands_run(&submission->commands, &queue->is_ending);
    trace("queue_ran queue=%p commands=%zu result=0x%x", (void *)queue, submission->commands.count,
          result);
    pthread_mutex_lock(&queue->mutex);
    if (queue->failure == ZE_RESULT_SUCCESS)
        queue->failure = result;
    pthread_mutex_unlock(&queue->mutex);
    if (submission->fence)
        waitable_set(&submission->fence->state, result);
    free_submission(submission);
}

static void *work(void *pointer)
{
    struct queue *queue = pointer;
    pthread_mutex_lock(&queue->mutex);
    for (;;) {
        while (!queue->first && !atomic_load(&queue->is_ending))
            pthread_cond_wait(&queue->arrived, &queue->mutex);
        struct submission *submission = queue->first;
        if (!submission)
            break;
        queue->first = submission->next;
        if (!queue->first)
            queue->end = &queue->first;
        queue->is_running = true;
        queue->running = submission->fence ? object_hold(submission->fence) : NULL;
        pthread_mutex_unlock(&queue->mutex);
        run_submission(queue, submission);
        pthread_mutex_lock(&queue->mutex);
        queue->is_running = false;
        object_put(queue->running);
        queue->running = NULL;
        pthread_cond_broadcast(&queue->became_idle);
    }
    pthread_mutex_unlock(&queue->mutex);
    return NULL;
}

/* End the thread after what is submitted; nothing can be submitted afterwards. */
static void stop(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    const bool join = queue->has_thread;
    queue->has_thread = false;
    atomic_store(&queue->is_ending, true);
    pthread_cond_broadcast(&queue->arrived);
    pthread_mutex_unlock(&queue->mutex);
    if (join)
        pthread_join(queue->thread, NULL);
}

/*
 * At the end of the process the libraries that run graphs are taken down, so no thread may be in
 * one of them then. Registered by the first queue, hence run before the destructors of libraries
 * that were there earlier.
 */
static void stop_all(void)
{
    pthread_mutex_lock(&alive_mutex);
    for (struct queue *queue = alive; queue; queue = queue->next_alive)
        stop(queue);
    pthread_mutex_unlock(&alive_mutex);
}

void queues_lock(void)
{
    pthread_mutex_lock(&alive_mutex);
}

void queues_unlock(void)
{
    pthread_mutex_unlock(&alive_mutex);
}

/* In a forked child: whoever waits for work of the parent's thread learns that it is lost. */
static void lose(struct fence *fence)
{
    if (!fence)
        return;
    waitable_restart(&fence->state);
    waitable_set(&fence->state, ZE_RESULT_ERROR_DEVICE_LOST);
}

/*
 * Without it the child's exit would wait for threads that it does not have. Submissions are not
 * freed: that may end in OpenVINO, which does not support fork().
 */
void queues_restart(void)
{
    for (struct queue *queue = alive; queue; queue = queue->next_alive) {
        pthread_mutex_init(&queue->mutex, NULL);
        condition_init(&queue->arrived);
        condition_init(&queue->became_idle);
        queue->has_thread = false;
        for (struct submission *s = queue->first; s; s = s->next)
            lose(s->fence);
        lose(queue->running);
        queue->running = NULL;
        queue->is_running = false;
        queue->first = NULL;
        queue->end = &queue->first;
    }
}

static void register_handler(void)
{
    atexit(stop_all);
}

static void join_alive(struct queue *queue)
{
    pthread_once(&handler_once, register_handler);
    pthread_mutex_lock(&alive_mutex);
    queue->next_alive = alive;
    alive = queue;
    pthread_mutex_unlock(&alive_mutex);
}

static void leave_alive(struct queue *queue)
{
    pthread_mutex_lock(&alive_mutex);
    struct queue **link = &alive;
    while (*link && *link != queue)
        link = &(*link)->next_alive;
    if (*link)
        *link = queue->next_alive;
    pthread_mutex_unlock(&alive_mutex);
}

static void release(void *pointer)
{
    struct queue *queue = pointer;
    pthread_cond_destroy(&queue->became_idle);
    pthread_cond_destroy(&queue->arrived);
    pthread_mutex_destroy(&queue->mutex);
    object_put(queue->context);
    free(queue);
}

struct queue *queue_create(struct context *context, ze_command_queue_mode_t mode)
{
    struct queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    queue->context = object_hold(context);
    queue->is_synchronous = mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    queue->end = &queue->first;
    pthread_mutex_init(&queue->mutex, NULL);
    condition_init(&queue->arrived);
    condition_init(&queue->became_idle);
    object_publish(&queue->object, OBJECT_COMMAND_QUEUE, release);
    join_alive(queue);
    return queue;
}

ze_result_t queue_finish(struct queue *queue)
{
    HELD struct queue *kept = object_hold(queue);
    ze_result_t result = object_retire(queue, OBJECT_COMMAND_QUEUE);
    if (result != ZE_RESULT_SUCCESS)
        return result; /* another thread was first */
    leave_alive(kept);
    stop(kept);
    return ZE_RESULT_SUCCESS;
}

/* Start the thread; the mutex is held. Signals are for the program's own threads. */
static bool start_thread(struct queue *queue)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    queue->has_thread = pthread_create(&queue->thread, NULL, work, queue) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return queue->has_thread;
}

ze_result_t queue_submit(struct queue *queue, const struct commands *commands, struct fence *fence)
{
    struct submission *submission = calloc(1, sizeof *submission);
    if (!submission)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (!commands_add_all(&submission->commands, commands)) {
        free_submission(submission);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (fence)
        submission->fence = object_hold(fence);

    ze_result_t result = ZE_RESULT_SUCCESS;
    pthread_mutex_lock(&queue->mutex);
    if (atomic_load(&queue->is_ending))
        result = ZE_RESULT_ERROR_DEVICE_LOST;
    else if (!queue->has_thread && !start_thread(queue))
        result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (result == ZE_RESULT_SUCCESS) {
        trace("queue_submit queue=%p commands=%zu fence=%p", (void *)queue, commands->count,
              (void *)fence);
        *queue->end = submission;
        queue->end = &submission->next;
        pthread_cond_signal(&queue->arrived);
    }
    pthread_mutex_unlock(&queue->mutex);

    if (result != ZE_RESULT_SUCCESS)
        free_submission(submission);
    else if (queue->is_synchronous)
        result = queue_wait(queue, UINT64_MAX);
    return result;
}

ze_result_t queue_wait(struct queue *queue, uint64_t timeout_ns)
{
    struct timespec deadline;
    const bool ends = deadline_in(timeout_ns, &deadline);
    int error = 0;

    pthread_mutex_lock(&queue->mutex);
    while ((queue->first || queue->is_running) && timeout_ns > 0 && error == 0)
        error = ends ? pthread_cond_timedwait(&queue->became_idle, &queue->mutex, &deadline)
                     : pthread_cond_wait(&queue->became_idle, &queue->mutex);
    ze_result_t result = ZE_RESULT_NOT_READY;
    if (!queue->first && !queue->is_running) {
        result = queue->failure;
        queue->failure = ZE_RESULT_SUCCESS;
    }
    pthread_mutex_unlock(&queue->mutex);
    return result;
}
