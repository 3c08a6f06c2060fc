/* SPDX-License-Identifier: Apache-2.0 */
#include "fence.h"

#include <stdlib.h>

static void release(void *pointer)
{
    struct fence *fence = pointer;
    waitable_destroy(&fence->state);
    free(fence);
}

static void restart(void *pointer)
{
    waitable_restart(&((struct fence *)pointer)->state);
}

ze_result_t zeFenceCreate(ze_command_queue_handle_t handle, const ze_fence_desc_t *descriptor,
                          ze_fence_handle_t *out)
{
    FAULT(zeFenceCreate);
    HELD struct object *queue = object_get(handle, OBJECT_COMMAND_QUEUE);
    if (!queue)
        return object_missing(handle);
    if (!descriptor || !out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    struct fence *fence = calloc(1, sizeof *fence);
    if (!fence)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    waitable_init(&fence->state, descriptor->flags & ZE_FENCE_FLAG_SIGNALED);
    fence->object.restart = restart;
    object_publish(&fence->object, OBJECT_FENCE, release);
    *out = (ze_fence_handle_t)fence;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeFenceDestroy(ze_fence_handle_t handle)
{
    FAULT(zeFenceDestroy);
    return object_retire(handle, OBJECT_FENCE);
}

ze_result_t zeFenceHostSynchronize(ze_fence_handle_t handle, uint64_t timeout_ns)
{
    FAULT(zeFenceHostSynchronize);
    HELD struct fence *fence = object_get(handle, OBJECT_FENCE);
    return fence ? waitable_wait(&fence->state, timeout_ns) : object_missing(handle);
}

ze_result_t zeFenceQueryStatus(ze_fence_handle_t handle)
{
    FAULT(zeFenceQueryStatus);
    return zeFenceHostSynchronize(handle, 0);
}

ze_result_t zeFenceReset(ze_fence_handle_t handle)
{
    FAULT(zeFenceReset);
    HELD struct fence *fence = object_get(handle, OBJECT_FENCE);
    if (!fence)
        return object_missing(handle);
    waitable_reset(&fence->state);
    return ZE_RESULT_SUCCESS;
}
