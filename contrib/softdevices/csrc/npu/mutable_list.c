/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mutable command lists of Level Zero 1.9, as far as OpenVINO's plugin uses them: it records a
 * graph once for each request and gives it other tensors by changing its arguments.
 */
#include "command_list_object.h"
#include "newer_abi.h"
#include "trace.h"

/* Older plugins write the value of a deprecated structure: ze_graph_ext.h, _ARGUMENT_EXP_DESC. */
#define DEPRECATED_STYPE_MUTABLE_GRAPH_ARGUMENT 0x7u

ze_result_t softnpu_list_get_next_command_id(ze_command_list_handle_t handle,
                                             const void *descriptor, uint64_t *id)
{
    static atomic_ullong last_id;
    HELD struct command_list *list = object_get(handle, OBJECT_COMMAND_LIST);
    if (!list)
        return object_missing(handle);
    if (!descriptor || !id)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    pthread_mutex_lock(&list->mutex);
    list->next_id = *id = atomic_fetch_add(&last_id, 1) + 1;
    pthread_mutex_unlock(&list->mutex);
    return ZE_RESULT_SUCCESS;
}

/* The mutex of the list is held. */
static ze_result_t change(struct command_list *list,
                          const struct softnpu_mutable_graph_argument *change,
                          const struct graph_value_strides *strides)
{
    const struct graph_value value = graph_value(change->value, strides);
    for (size_t i = 0; i < list->recorded.count; i++) {
        struct command *command = &list->recorded.items[i];
        if (command->kind != COMMAND_GRAPH || command->id != change->command)
            continue;
        if (!graph_accepts(command->graph, change->argument, &value))
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
        command->arguments[change->argument] = value;
        trace("graph_argument_change graph=%p list=%p index=%u pointer=%p", (void *)command->graph,
              (void *)list, change->argument, change->value);
        return ZE_RESULT_SUCCESS;
    }
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

/* The strides that follow an argument in the chain, or NULL. */
static const struct graph_value_strides *
strides_after(const struct softnpu_mutable_graph_argument *change)
{
    const struct softnpu_mutable_graph_argument *next = change->next;
    return next && next->stype == GRAPH_STYPE_VALUE_STRIDES ? (const void *)next : NULL;
}

ze_result_t softnpu_list_update_mutable_commands(ze_command_list_handle_t handle,
                                                 const struct softnpu_mutable_commands *commands)
{
    HELD struct command_list *list = object_get(handle, OBJECT_COMMAND_LIST);
    if (!list)
        return object_missing(handle);
    if (!commands)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    ze_result_t result = ZE_RESULT_SUCCESS;
    pthread_mutex_lock(&list->mutex);
    const struct softnpu_mutable_graph_argument *next = commands->next;
    while (next && result == ZE_RESULT_SUCCESS) {
        if (next->stype == SOFTNPU_STYPE_MUTABLE_GRAPH_ARGUMENT ||
            next->stype == DEPRECATED_STYPE_MUTABLE_GRAPH_ARGUMENT)
            result = change(list, next, strides_after(next));
        else if (next->stype == GRAPH_STYPE_VALUE_STRIDES)
            ; /* of the argument before it */
        else
            result = ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
        next = next->next;
    }
    pthread_mutex_unlock(&list->mutex);
    return result;
}
