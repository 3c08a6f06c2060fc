/* SPDX-License-Identifier: Apache-2.0 */
#include "event.h"

#include "context.h"

#include <stdlib.h>

struct event_pool {
    struct object object;
    uint32_t count;
};

static void release_event(void *pointer)
{
    struct event *event = pointer;
    waitable_destroy(&event->state);
    free(event);
}

static void restart_event(void *pointer)
{
    waitable_restart(&((struct event *)pointer)->state);
}

ze_result_t zeEventPoolCreate(ze_context_handle_t handle, const ze_event_pool_desc_t *descriptor,
                              uint32_t device_count, ze_device_handle_t *devices,
                              ze_event_pool_handle_t *out)
{
    FAULT(zeEventPoolCreate);
    (void)device_count, (void)devices; /* events work on every device */
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    if (!context)
        return object_missing(handle);
    if (!descriptor || !out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (descriptor->count == 0)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    struct event_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    pool->count = descriptor->count;
    object_publish(&pool->object, OBJECT_EVENT_POOL, free);
    *out = (ze_event_pool_handle_t)pool;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t handle)
{
    FAULT(zeEventPoolDestroy);
    return object_retire(handle, OBJECT_EVENT_POOL);
}

ze_result_t zeEventCreate(ze_event_pool_handle_t handle, const ze_event_desc_t *descriptor,
                          ze_event_handle_t *out)
{
    FAULT(zeEventCreate);
    HELD struct event_pool *pool = object_get(handle, OBJECT_EVENT_POOL);
    if (!pool)
        return object_missing(handle);
    if (!descriptor || !out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (descriptor->index >= pool->count)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    struct event *event = calloc(1, sizeof *event);
    if (!event)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    waitable_init(&event->state, false);
    event->object.restart = restart_event;
    object_publish(&event->object, OBJECT_EVENT, release_event);
    *out = (ze_event_handle_t)event;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventDestroy(ze_event_handle_t handle)
{
    FAULT(zeEventDestroy);
    return object_retire(handle, OBJECT_EVENT);
}

ze_result_t zeEventHostSignal(ze_event_handle_t handle)
{
    FAULT(zeEventHostSignal);
    HELD struct event *event = object_get(handle, OBJECT_EVENT);
    if (!event)
        return object_missing(handle);
    waitable_set(&event->state, ZE_RESULT_SUCCESS);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventHostReset(ze_event_handle_t handle)
{
    FAULT(zeEventHostReset);
    HELD struct event *event = object_get(handle, OBJECT_EVENT);
    if (!event)
        return object_missing(handle);
    waitable_reset(&event->state);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventHostSynchronize(ze_event_handle_t handle, uint64_t timeout_ns)
{
    FAULT(zeEventHostSynchronize);
    HELD struct event *event = object_get(handle, OBJECT_EVENT);
    return event ? waitable_wait(&event->state, timeout_ns) : object_missing(handle);
}

ze_result_t zeEventQueryStatus(ze_event_handle_t handle)
{
    FAULT(zeEventQueryStatus);
    return zeEventHostSynchronize(handle, 0);
}

ze_result_t zeEventQueryKernelTimestamp(ze_event_handle_t handle,
                                        ze_kernel_timestamp_result_t *result)
{
    FAULT(zeEventQueryKernelTimestamp);
    HELD struct event *event = object_get(handle, OBJECT_EVENT);
    if (!event)
        return object_missing(handle);
    if (!result)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    ze_result_t state = waitable_wait(&event->state, 0);
    if (state != ZE_RESULT_SUCCESS)
        return state;
    /* No kernel ran: the moment of the signal is all there is. */
    result->global.kernelStart = result->global.kernelEnd = event->state.set_at_ns;
    result->context = result->global;
    return ZE_RESULT_SUCCESS;
}
