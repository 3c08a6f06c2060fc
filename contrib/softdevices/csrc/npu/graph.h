/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compiled model: OpenVINO's CPU plugin runs what the NPU would run.
 *
 * The arguments' pointers are used in place, so what a test sees in the trace is what the model
 * read and wrote.
 */
#pragma once

#include "context.h"
#include "element_type.h"
#include "ir.h"

struct graph;

struct graph_argument {
    struct ir_port port;
    bool is_input;
    size_t index; /* among the compiled model's inputs or outputs */
    const struct element_type *type;
    size_t rank;
    int64_t *dimensions;
    size_t size; /* in bytes */
};

/*
 * Compile the model in `input`, a container or a binary of ours (container.h), which is copied.
 * What goes wrong is written into `log` (of `log_size` bytes).
 */
ze_result_t graph_create(struct context *context, bool is_binary, const uint8_t *input, size_t size,
                         struct graph **out, char *log, size_t log_size);

size_t graph_argument_count(const struct graph *graph);
const struct graph_argument *graph_argument(const struct graph *graph, size_t index);

/* The exported form; belongs to the graph. */
const uint8_t *graph_binary(const struct graph *graph, size_t *size);

/* Whether `pointer` is memory of the graph's context with room for the argument. */
bool graph_accepts(const struct graph *graph, size_t index, const void *pointer);

/* Set an argument for the next graph_arguments(). */
ze_result_t graph_set(struct graph *graph, size_t index, const void *pointer);

/* A copy of the arguments set now, to be freed; NULL if one is missing, or without memory. */
const void **graph_arguments(struct graph *graph);

ze_result_t graph_run(struct graph *graph, const void *const *arguments);
