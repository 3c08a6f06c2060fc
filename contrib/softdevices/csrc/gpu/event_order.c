/* SPDX-License-Identifier: Apache-2.0 */
/* The event of a kernel says that the kernels before it in its queue have ended too. OpenCL does not
 * promise that of a queue out of order, and Intel's runtime for CPUs runs such kernels side by side;
 * Intel's driver of GPUs runs them in the order in which they were enqueued
 * (https://github.com/intel/compute-runtime/issues/214), and OpenVINO's plugin relies on it: where
 * its last operation has several kernels (a concatenation has one for each input), it waits for the
 * last of them. On the runtime as it is, infer() then returned before the output was complete.
 *
 * So a kernel whose event the program asks for waits for the kernels before it. It waits only for
 * those that wait for no event that it does not wait for itself: they cannot keep it from running.
 * Kernels whose events nobody asks for run side by side, as before. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "handle_map.h"
#include "hooks.h"
#include "waits.h"

enum { MOST_WAITS = 8, FIRST_ROOM = 16 };

/* A kernel that may not have ended. */
struct running {
    cl_event event;
    cl_uint waits;
    /* Only compared. A later event may have the address of one that is gone; what waited for the one
     * that is gone then waits for nothing any more. */
    cl_event wait_list[MOST_WAITS];
};

/* Those of one queue out of order, since its last barrier. */
struct kernels {
    size_t count, room;
    struct running *list;
};

static struct softgpu_map queues = SOFTGPU_MAP_INIT;
/* Of what the records of all queues hold. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_out_of_order(cl_command_queue queue)
{
    cl_command_queue_properties properties = 0;

    return softgpu_below.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties,
                                               &properties, NULL) == CL_SUCCESS &&
           (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

/* The record of a queue out of order, made where there is none yet. NULL for a queue in order, and
 * where there is no memory. The lock is held. */
static struct kernels *kernels_of(cl_command_queue queue)
{
    struct kernels *kernels = softgpu_map_get(&queues, queue);

    if (kernels || !is_out_of_order(queue))
        return kernels;
    kernels = calloc(1, sizeof *kernels);
    if (kernels && !softgpu_map_put(&queues, queue, kernels)) {
        free(kernels);
        kernels = NULL;
    }
    return kernels;
}

static bool has_ended(cl_event event)
{
    cl_int status = CL_QUEUED;

    /* Errors are negative. */
    return softgpu_below.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                        &status, NULL) != CL_SUCCESS ||
           status <= CL_COMPLETE;
}

/* Forgets the kernels that have ended, or all. The lock is held. */
static void forget(struct kernels *kernels, bool all)
{
    size_t left = 0;

    for (size_t i = 0; i < kernels->count; i++) {
        if (all || has_ended(kernels->list[i].event))
            softgpu_below.clReleaseEvent(kernels->list[i].event);
        else
            kernels->list[left++] = kernels->list[i];
    }
    kernels->count = left;
}

/* Whether there is room for one more; the lock is held. */
static bool make_room(struct kernels *kernels)
{
    struct running *list;
    size_t room;

    if (kernels->count == kernels->room)
        forget(kernels, false);
    if (kernels->count < kernels->room)
        return true;
    room = kernels->room ? 2 * kernels->room : FIRST_ROOM;
    list = realloc(kernels->list, room * sizeof *list);
    if (!list)
        return false;
    kernels->list = list;
    kernels->room = room;
    return true;
}

/* Remembers a kernel just enqueued; takes over one reference to its event. */
static void remember(cl_command_queue queue, cl_event event, cl_uint waits,
                     const cl_event *wait_list)
{
    struct kernels *kernels;
    bool kept = false;

    pthread_mutex_lock(&lock);
    kernels = kernels_of(queue);
    if (kernels && waits <= MOST_WAITS && make_room(kernels)) {
        struct running *running = &kernels->list[kernels->count++];

        running->event = event;
        running->waits = waits;
        if (waits)
            memcpy(running->wait_list, wait_list, waits * sizeof *wait_list);
        kept = true;
    }
    pthread_mutex_unlock(&lock);
    if (!kept)
        softgpu_below.clReleaseEvent(event);
}

static bool waits_for_no_other(const struct running *running, cl_uint waits,
                               const cl_event *wait_list)
{
    for (cl_uint i = 0; i < running->waits; i++) {
        cl_uint at = 0;

        while (at < waits && wait_list[at] != running->wait_list[i])
            at++;
        if (at == waits)
            return false;
    }
    return true;
}

/* A wait list with the kernels before added, to each of which it holds a reference; NULL if there are
 * none, or no memory. */
static cl_event *with_kernels_before(cl_command_queue queue, cl_uint waits,
                                     const cl_event *wait_list, cl_uint *added)
{
    struct kernels *kernels;
    cl_event *events = NULL;

    *added = 0;
    pthread_mutex_lock(&lock);
    kernels = kernels_of(queue);
    if (kernels && kernels->count)
        events = malloc((waits + kernels->count) * sizeof *events);
    if (events) {
        if (waits)
            memcpy(events, wait_list, waits * sizeof *events);
        for (size_t i = 0; i < kernels->count; i++) {
            cl_event before = kernels->list[i].event;

            if (!waits_for_no_other(&kernels->list[i], waits, wait_list))
                continue;
            softgpu_below.clRetainEvent(before);
            events[waits + (*added)++] = before;
        }
    }
    pthread_mutex_unlock(&lock);
    return events;
}

cl_int CL_API_CALL softgpu_enqueue_kernel(cl_command_queue queue, cl_kernel kernel,
                                          cl_uint dimensions, const size_t *offset,
                                          const size_t *global_size, const size_t *local_size,
                                          cl_uint waits, const cl_event *wait_list,
                                          cl_event *event)
{
    cl_event *all = NULL;
    cl_event own = NULL;
    cl_uint added = 0;
    cl_int result;

    if (!is_out_of_order(queue) || (waits != 0) != (wait_list != NULL))
        return softgpu_below.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global_size,
                                                    local_size, waits, wait_list, event);
    if (event)
        all = with_kernels_before(queue, waits, wait_list, &added);
    result = softgpu_below.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global_size,
                                                  local_size, waits + added,
                                                  added ? all : wait_list, &own);
    for (cl_uint i = 0; i < added; i++)
        softgpu_below.clReleaseEvent(all[waits + i]);
    free(all);
    if (result != CL_SUCCESS)
        return result;
    if (event) {
        softgpu_below.clRetainEvent(own);
        *event = own;
    }
    remember(queue, own, waits, wait_list);
    return result;
}

static void forget_kernels(cl_command_queue queue, bool all)
{
    struct kernels *kernels;

    pthread_mutex_lock(&lock);
    kernels = softgpu_map_get(&queues, queue);
    if (kernels)
        forget(kernels, all);
    pthread_mutex_unlock(&lock);
}

/* Whatever comes after a barrier without a wait list waits for all that came before it. */
cl_int CL_API_CALL softgpu_enqueue_barrier(cl_command_queue queue, cl_uint waits,
                                           const cl_event *wait_list, cl_event *event)
{
    cl_int result = softgpu_below.clEnqueueBarrierWithWaitList(queue, waits, wait_list, event);

    if (result == CL_SUCCESS && waits == 0)
        forget_kernels(queue, true);
    return result;
}

cl_int CL_API_CALL softgpu_finish(cl_command_queue queue)
{
    cl_int result = softgpu_await_queue(queue);

    /* Another thread may have enqueued more by now. */
    if (result == CL_SUCCESS)
        forget_kernels(queue, false);
    return result;
}

cl_int CL_API_CALL softgpu_release_queue(cl_command_queue queue)
{
    cl_uint references = 0;
    struct kernels *kernels = NULL;

    if (softgpu_below.clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references,
                                            &references, NULL) == CL_SUCCESS &&
        references == 1) {
        softgpu_let_queue_end(queue);
        pthread_mutex_lock(&lock);
        kernels = softgpu_map_take(&queues, queue);
        if (kernels)
            forget(kernels, true);
        pthread_mutex_unlock(&lock);
    }
    if (kernels)
        free(kernels->list);
    free(kernels);
    return softgpu_below.clReleaseCommandQueue(queue);
}
