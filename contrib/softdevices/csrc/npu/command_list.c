/* SPDX-License-Identifier: Apache-2.0 */
/* zeCommandList*, but for the part that changes recorded commands (mutable_list.c). */
#include "command_list_object.h"
#include "memory.h"
#include "newer_abi.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

static void release(void *pointer)
{
    struct command_list *list = pointer;
    commands_clear(&list->recorded);
    if (list->queue)
        queue_finish(list->queue);
    object_put(list->context);
    pthread_mutex_destroy(&list->mutex);
    free(list);
}

static void restart(void *pointer)
{
    pthread_mutex_init(&((struct command_list *)pointer)->mutex, NULL);
}

static ze_result_t create(ze_context_handle_t handle, ze_device_handle_t device_handle,
                          struct command_list **out)
{
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    HELD struct device *device = object_get(device_handle, OBJECT_DEVICE);
    if (!context)
        return object_missing(handle);
    if (!device)
        return object_missing(device_handle);
    struct command_list *list = calloc(1, sizeof *list);
    if (!list)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    list->context = object_hold(context);
    list->device = device;
    restart(list);
    list->object.restart = restart;
    *out = list;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListCreate(ze_context_handle_t context, ze_device_handle_t device,
                                const ze_command_list_desc_t *descriptor,
                                ze_command_list_handle_t *out)
{
    FAULT(zeCommandListCreate);
    struct command_list *list;
    if (!descriptor || !out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (descriptor->commandQueueGroupOrdinal > 0)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    ze_result_t result = create(context, device, &list);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    object_publish(&list->object, OBJECT_COMMAND_LIST, release);
    *out = (ze_command_list_handle_t)list;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListCreateImmediate(ze_context_handle_t context, ze_device_handle_t device,
                                         const ze_command_queue_desc_t *descriptor,
                                         ze_command_list_handle_t *out)
{
    FAULT(zeCommandListCreateImmediate);
    struct command_list *list;
    if (!descriptor || !out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (descriptor->ordinal > 0 || descriptor->index > 0)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    ze_result_t result = create(context, device, &list);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    list->queue = queue_create(list->context, descriptor->mode);
    if (!list->queue) {
        release(list);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    object_publish(&list->object, OBJECT_COMMAND_LIST, release);
    *out = (ze_command_list_handle_t)list;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListDestroy(ze_command_list_handle_t handle)
{
    FAULT(zeCommandListDestroy);
    return object_retire(handle, OBJECT_COMMAND_LIST);
}

ze_result_t zeCommandListClose(ze_command_list_handle_t handle)
{
    FAULT(zeCommandListClose);
    HELD struct command_list *list = object_get(handle, OBJECT_COMMAND_LIST);
    if (!list)
        return object_missing(handle);
    pthread_mutex_lock(&list->mutex);
    list->is_closed = true;
    pthread_mutex_unlock(&list->mutex);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListReset(ze_command_list_handle_t handle)
{
    FAULT(zeCommandListReset);
    HELD struct command_list *list = object_get(handle, OBJECT_COMMAND_LIST);
    if (!list)
        return object_missing(handle);
    pthread_mutex_lock(&list->mutex);
    commands_clear(&list->recorded);
    list->is_closed = false;
    list->next_id = 0;
    pthread_mutex_unlock(&list->mutex);
    return ZE_RESULT_SUCCESS;
}

ze_result_t softnpu_list_host_synchronize(ze_command_list_handle_t handle, uint64_t timeout_ns)
{
    FAULT(zeCommandListHostSynchronize);
    HELD struct command_list *list = object_get(handle, OBJECT_COMMAND_LIST);
    if (!list)
        return object_missing(handle);
    /* Only an immediate list knows when its commands have run. */
    return list->queue ? queue_wait(list->queue, timeout_ns) : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ze_result_t command_list_add_to(ze_command_list_handle_t handle, struct commands *commands)
{
    HELD struct command_list *list = object_get(handle, OBJECT_COMMAND_LIST);
    if (!list)
        return object_missing(handle);
    ze_result_t result = ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
    if (list->queue)
        return result;
    pthread_mutex_lock(&list->mutex);
    if (!list->is_closed)
        result = ZE_RESULT_ERROR_INVALID_ARGUMENT;
    else if (!commands_add_all(commands, &list->recorded))
        result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    else
        result = ZE_RESULT_SUCCESS;
    pthread_mutex_unlock(&list->mutex);
    return result;
}

static ze_result_t add_event(struct commands *commands, enum command_kind kind,
                             ze_event_handle_t handle)
{
    HELD struct event *event = object_get(handle, OBJECT_EVENT);
    if (!event)
        return object_missing(handle);
    const struct command command = {.kind = kind, .event = event};
    return commands_add(commands, &command) ? ZE_RESULT_SUCCESS
                                            : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

static ze_result_t keep_or_submit(struct command_list *list, const struct commands *commands)
{
    if (list->queue)
        return queue_submit(list->queue, commands, NULL);
    pthread_mutex_lock(&list->mutex);
    ze_result_t result = ZE_RESULT_SUCCESS;
    if (list->is_closed)
        result = ZE_RESULT_ERROR_NOT_AVAILABLE;
    else if (!commands_add_all(&list->recorded, commands))
        result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    pthread_mutex_unlock(&list->mutex);
    return result;
}

static uint64_t take_next_id(struct command_list *list)
{
    pthread_mutex_lock(&list->mutex);
    const uint64_t id = list->next_id;
    list->next_id = 0;
    pthread_mutex_unlock(&list->mutex);
    return id;
}

ze_result_t command_list_append(ze_command_list_handle_t handle, struct command *command,
                                ze_event_handle_t signal, uint32_t wait_count,
                                ze_event_handle_t *waits)
{
    HELD struct command_list *list = object_get(handle, OBJECT_COMMAND_LIST);
    if (!list)
        return object_missing(handle);
    if (wait_count > 0 && !waits)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    /* Collected first, so that a bad handle leaves the list as it was. */
    struct commands all = {0};
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (uint32_t i = 0; i < wait_count && result == ZE_RESULT_SUCCESS; i++)
        result = add_event(&all, COMMAND_WAIT_EVENT, waits[i]);
    if (result == ZE_RESULT_SUCCESS && command) {
        command->context = list->context;
        command->id = take_next_id(list);
        if (!commands_add(&all, command))
            result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (result == ZE_RESULT_SUCCESS && signal)
        result = add_event(&all, COMMAND_SIGNAL_EVENT, signal);
    if (result == ZE_RESULT_SUCCESS)
        result = keep_or_submit(list, &all);
    commands_clear(&all);
    return result;
}

/* Whether the list's device may touch the range; the context is the one it was made in. */
static bool is_known(const struct command_list *list, const void *pointer, size_t size)
{
    return memory_is_known(list->context, pointer, size);
}

ze_result_t zeCommandListAppendBarrier(ze_command_list_handle_t handle, ze_event_handle_t signal,
                                       uint32_t wait_count, ze_event_handle_t *waits)
{
    FAULT(zeCommandListAppendBarrier);
    /* Commands run one after the other anyway. */
    return command_list_append(handle, NULL, signal, wait_count, waits);
}

ze_result_t zeCommandListAppendMemoryRangesBarrier(ze_command_list_handle_t handle, uint32_t count,
                                                   const size_t *sizes, const void **ranges,
                                                   ze_event_handle_t signal, uint32_t wait_count,
                                                   ze_event_handle_t *waits)
{
    FAULT(zeCommandListAppendMemoryRangesBarrier);
    (void)count;
    if (!sizes || !ranges)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    return command_list_append(handle, NULL, signal, wait_count, waits);
}

ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t handle, void *to,
                                          const void *from, size_t size, ze_event_handle_t signal,
                                          uint32_t wait_count, ze_event_handle_t *waits)
{
    FAULT(zeCommandListAppendMemoryCopy);
    HELD struct command_list *list = object_get(handle, OBJECT_COMMAND_LIST);
    if (!list)
        return object_missing(handle);
    if (!to || !from)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!is_known(list, to, size) || !is_known(list, from, size))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    struct command command = {.kind = COMMAND_COPY, .to = to, .from = from, .size = size};
    return command_list_append(handle, &command, signal, wait_count, waits);
}

ze_result_t zeCommandListAppendMemoryFill(ze_command_list_handle_t handle, void *to,
                                          const void *pattern, size_t pattern_size, size_t size,
                                          ze_event_handle_t signal, uint32_t wait_count,
                                          ze_event_handle_t *waits)
{
    FAULT(zeCommandListAppendMemoryFill);
    HELD struct command_list *list = object_get(handle, OBJECT_COMMAND_LIST);
    if (!list)
        return object_missing(handle);
    if (!to || !pattern)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (pattern_size == 0 || pattern_size > list->device->largest_fill_pattern ||
        (pattern_size & (pattern_size - 1)))
        return ZE_RESULT_ERROR_INVALID_SIZE;
    if (!is_known(list, to, size))
        return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY; /* as Intel's NPU driver */
    struct command command = {
        .kind = COMMAND_FILL, .to = to, .size = size, .pattern_size = pattern_size};
    memcpy(command.pattern, pattern, pattern_size);
    return command_list_append(handle, &command, signal, wait_count, waits);
}

ze_result_t zeCommandListAppendWriteGlobalTimestamp(ze_command_list_handle_t handle, uint64_t *to,
                                                    ze_event_handle_t signal, uint32_t wait_count,
                                                    ze_event_handle_t *waits)
{
    FAULT(zeCommandListAppendWriteGlobalTimestamp);
    HELD struct command_list *list = object_get(handle, OBJECT_COMMAND_LIST);
    if (!list)
        return object_missing(handle);
    if (!to)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!is_known(list, to, sizeof *to))
        return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    struct command command = {.kind = COMMAND_TIMESTAMP, .to = to};
    return command_list_append(handle, &command, signal, wait_count, waits);
}

ze_result_t zeCommandListAppendSignalEvent(ze_command_list_handle_t handle, ze_event_handle_t event)
{
    FAULT(zeCommandListAppendSignalEvent);
    return event ? command_list_append(handle, NULL, event, 0, NULL) : object_missing(event);
}

ze_result_t zeCommandListAppendWaitOnEvents(ze_command_list_handle_t handle, uint32_t count,
                                            ze_event_handle_t *events)
{
    FAULT(zeCommandListAppendWaitOnEvents);
    if (!events)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    return command_list_append(handle, NULL, NULL, count, events);
}

ze_result_t zeCommandListAppendEventReset(ze_command_list_handle_t handle, ze_event_handle_t event)
{
    FAULT(zeCommandListAppendEventReset);
    HELD struct event *target = object_get(event, OBJECT_EVENT);
    if (!target)
        return object_missing(event);
    struct command command = {.kind = COMMAND_RESET_EVENT, .event = target};
    return command_list_append(handle, &command, NULL, 0, NULL);
}
