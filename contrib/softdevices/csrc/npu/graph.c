/* SPDX-License-Identifier: Apache-2.0 */
/* Using a graph: its arguments, and running it. */
#include "graph_object.h"
#include "graph_strides.h"
#include "memory.h"
#include "profiling.h"
#include "trace.h"
#include "waitable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t graph_argument_count(const struct graph *graph)
{
    return graph->count;
}

const struct graph_argument *graph_argument(const struct graph *graph, size_t index)
{
    return index < graph->count ? &graph->arguments[index] : NULL;
}

const uint8_t *graph_binary(const struct graph *graph, size_t *size)
{
    *size = graph->binary_size;
    return graph->binary;
}

struct graph_value graph_value(const void *pointer, const struct graph_value_strides *strides)
{
    struct graph_value value = {.pointer = pointer, .has_strides = strides != NULL};
    if (strides)
        memcpy(value.strides, strides->strides, sizeof value.strides);
    return value;
}

bool graph_accepts(const struct graph *graph, size_t index, const struct graph_value *value)
{
    const size_t extent =
        index < graph->count ? graph_strides_extent(&graph->arguments[index], value) : 0;
    if (index >= graph->count || (value->has_strides && !extent))
        return false;
    return memory_is_known(graph->context, value->pointer, extent);
}

ze_result_t graph_set(struct graph *graph, size_t index, const struct graph_value *value)
{
    if (!graph_accepts(graph, index, value))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&graph->mutex);
    graph->values[index] = *value;
    pthread_mutex_unlock(&graph->mutex);
    trace("graph_argument_set graph=%p index=%zu pointer=%p%s", (void *)graph, index,
          value->pointer, value->has_strides ? " strides=1" : "");
    return ZE_RESULT_SUCCESS;
}

struct graph_value *graph_arguments(struct graph *graph)
{
    struct graph_value *copy = malloc((graph->count + 1) * sizeof *copy);
    bool is_complete = copy != NULL;
    pthread_mutex_lock(&graph->mutex);
    for (size_t i = 0; i < graph->count && is_complete; i++) {
        copy[i] = graph->values[i];
        is_complete = copy[i].pointer != NULL;
    }
    pthread_mutex_unlock(&graph->mutex);
    if (is_complete)
        return copy;
    free(copy);
    return NULL;
}

/*
 * Let the request work on the argument's own memory; 0, or OpenVINO's status.
 *
 * Two kinds of outputs must not be bound like that:
 *  - States. OpenVINO's NPU plugin gives a state's input and output one buffer, and a state must be
 *    read everywhere before it changes, so its output is staged.
 *  - An input that is passed through. The CPU plugin then takes the output's memory for the input
 *    (seen in 2026.4.1), so it keeps its own, and the bytes are copied afterwards.
 */
static int bind(struct graph *graph, size_t i, const void *pointer)
{
    const struct openvino *ov = graph->openvino;
    const struct graph_argument *argument = &graph->arguments[i];
    const struct openvino_shape shape = {(int64_t)argument->rank, argument->dimensions};
    void *memory = graph->staging[i] ? graph->staging[i] : (void *)pointer;
    void *tensor = NULL;
    if (argument->port.passes_input)
        return 0;
    int status = ov->tensor_from_host(argument->type->openvino, shape, memory, &tensor);
    if (!status)
        status = argument->is_input
                     ? ov->request_set_input(graph->request, argument->index, tensor)
                     : ov->request_set_output(graph->request, argument->index, tensor);
    if (tensor)
        ov->tensor_free(tensor);
    return status;
}

/* The memory of the model's input `index`. */
static const void *memory_of_input(const struct graph *graph, size_t index,
                                   const void *const *arguments)
{
    size_t i = 0;
    while (!graph->arguments[i].is_input || graph->arguments[i].index != index)
        i++;
    return arguments[i];
}

/* Write the outputs that were not bound: first all that read inputs, then the states. */
static void write_unbound(struct graph *graph, const void *const *arguments)
{
    for (size_t i = 0; i < graph->count; i++) {
        const struct graph_argument *argument = &graph->arguments[i];
        if (argument->port.passes_input)
            memmove(graph->staging[i] ? graph->staging[i] : (void *)arguments[i],
                    memory_of_input(graph, argument->port.input, arguments), argument->size);
    }
    for (size_t i = 0; i < graph->count; i++)
        if (graph->staging[i])
            memcpy((void *)arguments[i], graph->staging[i], graph->arguments[i].size);
}

/* The mutex of the request is held; 0, or OpenVINO's status. */
static int infer(struct graph *graph, const void *const *arguments)
{
    int status = 0;
    for (size_t i = 0; i < graph->count && !status; i++)
        status = bind(graph, i, arguments[i]);
    if (!status)
        status = graph->openvino->request_infer(graph->request);
    if (!status)
        write_unbound(graph, arguments);
    return status;
}

static void trace_run(const struct graph *graph, const struct graph_value *values,
                      ze_result_t result)
{
    char list[8192] = "";
    if (!trace_is_on())
        return;
    for (size_t i = 0, used = 0; i < graph->count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%p", i ? "," : "",
                                 values[i].pointer);
    trace("graph_execute graph=%p arguments=%s result=0x%x", (void *)graph, list, result);
}

/* Infer on the memory of the values; that of one with strides is gathered and scattered. */
static ze_result_t infer_values(struct graph *graph, const struct graph_value *values)
{
    const void **arguments = calloc(graph->count + 1, sizeof *arguments);
    bool has_memory = arguments != NULL;
    ze_result_t result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < graph->count && has_memory; i++) {
        const struct graph_argument *argument = &graph->arguments[i];
        arguments[i] = values[i].has_strides ? malloc(argument->size + 1) : values[i].pointer;
        has_memory = arguments[i] != NULL;
        if (has_memory && values[i].has_strides && argument->is_input)
            graph_strides_gather(argument, &values[i], (void *)arguments[i]);
    }
    if (has_memory)
        result = infer(graph, arguments) ? ZE_RESULT_ERROR_UNKNOWN : ZE_RESULT_SUCCESS;
    for (size_t i = 0; i < graph->count && arguments; i++) {
        if (!values[i].has_strides)
            continue;
        if (result == ZE_RESULT_SUCCESS && !graph->arguments[i].is_input)
            graph_strides_scatter(&graph->arguments[i], &values[i], arguments[i]);
        free((void *)arguments[i]);
    }
    free(arguments);
    return result;
}

ze_result_t graph_run(struct graph *graph, const struct graph_value *values,
                      struct profiling_query *query)
{
    struct allocation **pinned = calloc(graph->count + 1, sizeof *pinned);
    if (!pinned)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (size_t i = 0; i < graph->count && result == ZE_RESULT_SUCCESS; i++) {
        pinned[i] = memory_pin(graph->context, values[i].pointer,
                               graph_strides_extent(&graph->arguments[i], &values[i]));
        if (!pinned[i])
            result = ZE_RESULT_ERROR_DEVICE_LOST; /* freed since: hardware faults there */
    }
    if (result == ZE_RESULT_SUCCESS) {
        pthread_mutex_lock(&graph->running);
        const uint64_t start_ns = now_ns();
        result = infer_values(graph, values);
        if (result == ZE_RESULT_SUCCESS && query)
            profiling_query_fill(query, graph_layers(graph, start_ns));
        pthread_mutex_unlock(&graph->running);
    }
    trace_run(graph, values, result);
    for (size_t i = 0; i < graph->count; i++)
        allocation_unpin(pinned[i]);
    free(pinned);
    return result;
}
