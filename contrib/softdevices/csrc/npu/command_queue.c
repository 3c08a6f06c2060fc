/* SPDX-License-Identifier: Apache-2.0 */
/* zeCommandQueue*: the queues that programs make. */
#include "command_list.h"
#include "queue.h"
#include "trace.h"

ze_result_t zeCommandQueueCreate(ze_context_handle_t handle, ze_device_handle_t device_handle,
                                 const ze_command_queue_desc_t *descriptor,
                                 ze_command_queue_handle_t *out)
{
    FAULT(zeCommandQueueCreate);
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    HELD struct device *device = object_get(device_handle, OBJECT_DEVICE);
    if (!context)
        return object_missing(handle);
    if (!device)
        return object_missing(device_handle);
    if (!descriptor || !out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (descriptor->ordinal > 0 || descriptor->index > 0)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    struct queue *queue = queue_create(context, descriptor->mode);
    if (!queue)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    *out = (ze_command_queue_handle_t)queue;
    trace("queue_create queue=%p context=%p", (void *)queue, (void *)context);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueDestroy(ze_command_queue_handle_t handle)
{
    FAULT(zeCommandQueueDestroy);
    HELD struct queue *queue = object_get(handle, OBJECT_COMMAND_QUEUE);
    trace("queue_destroy queue=%p", (void *)handle);
    return queue ? queue_finish(queue) : object_missing(handle);
}

ze_result_t zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t handle, uint32_t count,
                                              ze_command_list_handle_t *lists,
                                              ze_fence_handle_t fence_handle)
{
    FAULT(zeCommandQueueExecuteCommandLists);
    HELD struct queue *queue = object_get(handle, OBJECT_COMMAND_QUEUE);
    if (!queue)
        return object_missing(handle);
    HELD struct fence *fence = object_get(fence_handle, OBJECT_FENCE);
    if (fence_handle && !fence)
        return ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
    if (!lists)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (count == 0)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    struct commands all = {0};
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (uint32_t i = 0; i < count && result == ZE_RESULT_SUCCESS; i++)
        result = command_list_add_to(lists[i], &all);
    if (result == ZE_RESULT_SUCCESS)
        result = queue_submit(queue, &all, fence);
    commands_clear(&all);
    return result;
}

ze_result_t zeCommandQueueSynchronize(ze_command_queue_handle_t handle, uint64_t timeout_ns)
{
    FAULT(zeCommandQueueSynchronize);
    HELD struct queue *queue = object_get(handle, OBJECT_COMMAND_QUEUE);
    return queue ? queue_wait(queue, timeout_ns) : object_missing(handle);
}
