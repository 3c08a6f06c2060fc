/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include "memory.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#define MILLISECOND_NS 1000000ull
/* A wait that nobody ends would stop the queue forever; hardware resets itself as well. */
#define LONGEST_WAIT_NS (10000 * MILLISECOND_NS)

static void let_go(struct command *command)
{
    object_put(command->context);
    object_put(command->event);
    object_put(command->graph);
    object_put(command->query);
    free(command->arguments);
}

bool commands_add(struct commands *commands, const struct command *command)
{
    if (commands->count == commands->capacity) {
        size_t capacity = commands->capacity ? 2 * commands->capacity : 8;
        struct command *items = realloc(commands->items, capacity * sizeof *items);
        if (!items)
            return false;
        commands->items = items;
        commands->capacity = capacity;
    }
    struct command copy = *command;
    if (command->arguments) {
        size_t size = graph_argument_count(command->graph) * sizeof *copy.arguments;
        copy.arguments = malloc(size ? size : 1);
        if (!copy.arguments)
            return false;
        memcpy(copy.arguments, command->arguments, size);
    }
    if (copy.context)
        object_hold(copy.context);
    if (copy.event)
        object_hold(copy.event);
    if (copy.graph)
        object_hold(copy.graph);
    if (copy.query)
        object_hold(copy.query);
    commands->items[commands->count++] = copy;
    return true;
}

bool commands_add_all(struct commands *commands, const struct commands *more)
{
    const size_t before = commands->count;
    for (size_t i = 0; i < more->count; i++) {
        if (commands_add(commands, &more->items[i]))
            continue;
        while (commands->count > before)
            let_go(&commands->items[--commands->count]);
        return false;
    }
    return true;
}

void commands_clear(struct commands *commands)
{
    for (size_t i = 0; i < commands->count; i++)
        let_go(&commands->items[i]);
    free(commands->items);
    *commands = (struct commands){0};
}

/* The memory may have been freed since the command was recorded: then the device is lost. */
static bool still_there(struct context *context, const void *pointer, size_t size,
                        struct allocation **pinned)
{
    *pinned = memory_pin(context, pointer, size);
    return *pinned || !context->driver->device->is_npu;
}

static ze_result_t run_copy(const struct command *command)
{
    struct allocation *to = NULL, *from = NULL;
    ze_result_t result = ZE_RESULT_ERROR_DEVICE_LOST;
    if (still_there(command->context, command->to, command->size, &to) &&
        still_there(command->context, command->from, command->size, &from)) {
        memmove(command->to, command->from, command->size);
        result = ZE_RESULT_SUCCESS;
    }
    allocation_unpin(to);
    allocation_unpin(from);
    trace("copy to=%p from=%p size=%zu result=0x%x", command->to, command->from, command->size,
          result);
    return result;
}

static ze_result_t run_fill(const struct command *command)
{
    struct allocation *to = NULL;
    ze_result_t result = ZE_RESULT_ERROR_DEVICE_LOST;
    if (still_there(command->context, command->to, command->size, &to)) {
        for (size_t i = 0; i < command->size; i++)
            ((unsigned char *)command->to)[i] = command->pattern[i % command->pattern_size];
        result = ZE_RESULT_SUCCESS;
    }
    allocation_unpin(to);
    trace("fill to=%p size=%zu pattern_size=%zu result=0x%x", command->to, command->size,
          command->pattern_size, result);
    return result;
}

static ze_result_t run_timestamp(const struct command *command)
{
    struct allocation *to = NULL;
    ze_result_t result = ZE_RESULT_ERROR_DEVICE_LOST;
    if (still_there(command->context, command->to, sizeof(uint64_t), &to)) {
        const uint64_t now = now_ns();
        memcpy(command->to, &now, sizeof now);
        result = ZE_RESULT_SUCCESS;
    }
    allocation_unpin(to);
    return result;
}

static ze_result_t run_wait(const struct command *command, const atomic_bool *hurry)
{
    const uint64_t slice = 20 * MILLISECOND_NS;
    for (uint64_t waited = 0; waited < LONGEST_WAIT_NS; waited += slice) {
        ze_result_t result = waitable_wait(&command->event->state, slice);
        if (result != ZE_RESULT_NOT_READY)
            return result;
        if (atomic_load(hurry))
            break;
    }
    trace("event_wait_failed event=%p", (void *)command->event);
    return ZE_RESULT_ERROR_DEVICE_LOST;
}

static ze_result_t run(const struct command *command, const atomic_bool *hurry)
{
    switch (command->kind) {
    case COMMAND_COPY:
        return run_copy(command);
    case COMMAND_FILL:
        return run_fill(command);
    case COMMAND_TIMESTAMP:
        return run_timestamp(command);
    case COMMAND_SIGNAL_EVENT:
        waitable_set(&command->event->state, ZE_RESULT_SUCCESS);
        return ZE_RESULT_SUCCESS;
    case COMMAND_RESET_EVENT:
        waitable_reset(&command->event->state);
        return ZE_RESULT_SUCCESS;
    case COMMAND_WAIT_EVENT:
        return run_wait(command, hurry);
    case COMMAND_GRAPH:
        return graph_run(command->graph, command->arguments, command->query);
    }
    return ZE_RESULT_ERROR_UNKNOWN;
}

ze_result_t commands_run(const struct commands *commands, const atomic_bool *hurry)
{
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (size_t i = 0; i < commands->count; i++) {
        const struct command *command = &commands->items[i];
        if (result == ZE_RESULT_SUCCESS)
            result = run(command, hurry);
        else if (command->kind == COMMAND_SIGNAL_EVENT)
            /* Whoever waits for the event must learn of the failure rather than wait forever. */
            waitable_set(&command->event->state, result);
    }
    return result;
}
