/* SPDX-License-Identifier: Apache-2.0 */
/* One command of a command list, and lists of them. */
#pragma once

#include "context.h"
#include "event.h"
#include "graph.h"

#include <stdatomic.h>
#include <stdbool.h>

#define LARGEST_FILL_PATTERN 128

enum command_kind {
    COMMAND_COPY,
    COMMAND_FILL,
    COMMAND_TIMESTAMP,
    COMMAND_SIGNAL_EVENT,
    COMMAND_RESET_EVENT,
    COMMAND_WAIT_EVENT,
    COMMAND_GRAPH,
};

/* Holds a reference to the objects that it names. */
struct command {
    enum command_kind kind;
    uint64_t id; /* 0, or what zeCommandListGetNextCommandIdExp gave for it */
    struct context *context;
    struct event *event;
    void *to;
    const void *from;
    size_t size;
    unsigned char pattern[LARGEST_FILL_PATTERN];
    size_t pattern_size;
    struct graph *graph;
    struct graph_value *arguments; /* of the graph, one for each */
    struct profiling_query *query; /* of the graph's execution, or NULL */
};

struct commands {
    struct command *items;
    size_t count;
    size_t capacity;
};

/* Add a copy of `command` with its own references; false without memory. */
bool commands_add(struct commands *commands, const struct command *command);

/* Add copies of all of `more`; false without memory, then nothing was added. */
bool commands_add_all(struct commands *commands, const struct commands *more);

/* Give back all references and memory; leaves an empty list. */
void commands_clear(struct commands *commands);

/* Run all in order, until the first that fails. `hurry` ends waits for events with an error. */
ze_result_t commands_run(const struct commands *commands, const atomic_bool *hurry);
