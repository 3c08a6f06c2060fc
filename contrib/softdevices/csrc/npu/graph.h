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
#include "graph_abi.h"
#include "ir.h"

struct graph;

struct profiling_query;

/* One for each layer; `items` is to be freed. */
struct graph_layers {
    struct graph_profiling_layer *items;
    size_t count;
};

struct graph_argument {
    struct ir_port port;
    bool is_input;
    size_t index; /* among the compiled model's inputs or outputs */
    const struct element_type *type;
    size_t rank;
    int64_t *dimensions;
    size_t size; /* in bytes */
};

/* What an argument is set to. */
struct graph_value {
    const void *pointer;
    bool has_strides;
    uint32_t strides[GRAPH_PROPERTIES_RANK]; /* graph_strides.c */
};

/*
 * Compile the model in `input`, a container or a binary of ours (container.h), which is copied;
 * with `has_counters` so that the times of its layers can be asked for. What goes wrong is written
 * into `log` (of `log_size` bytes).
 */
ze_result_t graph_create(struct context *context, bool is_binary, bool has_counters,
                         const uint8_t *input, size_t size, struct graph **out, char *log,
                         size_t log_size);

bool graph_has_counters(const struct graph *graph);

/* Give the layers of the last execution, which began at `start_ns`; one execution at a time. */
struct graph_layers graph_layers(struct graph *graph, uint64_t start_ns);

size_t graph_argument_count(const struct graph *graph);
const struct graph_argument *graph_argument(const struct graph *graph, size_t index);

/* The exported form; belongs to the graph. */
const uint8_t *graph_binary(const struct graph *graph, size_t *size);

/* The value of a pointer with strides, or with NULL those of a dense argument. */
struct graph_value graph_value(const void *pointer, const struct graph_value_strides *strides);

/* Whether the value is memory of the graph's context with room for the argument. */
bool graph_accepts(const struct graph *graph, size_t index, const struct graph_value *value);

/* Set an argument for the next graph_arguments(). */
ze_result_t graph_set(struct graph *graph, size_t index, const struct graph_value *value);

/* A copy of the arguments set now, to be freed; NULL if one is missing, or without memory. */
struct graph_value *graph_arguments(struct graph *graph);

/* Run it; `query`, if it is not NULL, gets the times of the layers. */
ze_result_t graph_run(struct graph *graph, const struct graph_value *values,
                      struct profiling_query *query);
