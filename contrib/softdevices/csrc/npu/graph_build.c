/* SPDX-License-Identifier: Apache-2.0 */
/* Making a graph: compiling the model, and finding out about its arguments. */
#include "container.h"
#include "graph_object.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void release(void *pointer)
{
    struct graph *graph = pointer;
    if (graph->request)
        graph->openvino->request_free(graph->request);
    if (graph->compiled)
        graph->openvino->compiled_free(graph->compiled);
    for (size_t i = 0; i < graph->count; i++) {
        free(graph->arguments[i].dimensions);
        free(graph->staging[i]);
    }
    free(graph->staging);
    free(graph->arguments);
    free(graph->values);
    free(graph->binary);
    object_put(graph->context);
    pthread_mutex_destroy(&graph->mutex);
    pthread_mutex_destroy(&graph->running);
    trace("graph_free graph=%p", (void *)graph);
    free(graph);
}

/* Keep the model in the form in which it is exported. */
static bool keep_binary(struct graph *graph, bool is_binary, const uint8_t *input, size_t size)
{
    const size_t mark = is_binary ? 0 : BINARY_MARK_SIZE;
    graph->binary_size = size + mark;
    graph->binary = malloc(graph->binary_size);
    if (!graph->binary)
        return false;
    memcpy(graph->binary, graph->has_counters ? BINARY_MARK_COUNTERS : BINARY_MARK, mark);
    memcpy(graph->binary + mark, input, size);
    return true;
}

static ze_result_t read_container(struct graph *graph, struct container *container)
{
    const uint8_t *block = graph->binary + BINARY_MARK_SIZE;
    if (graph->binary_size < BINARY_MARK_SIZE)
        return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    graph->has_counters = memcmp(graph->binary, BINARY_MARK_COUNTERS, BINARY_MARK_SIZE) == 0;
    if (!graph->has_counters && memcmp(graph->binary, BINARY_MARK, BINARY_MARK_SIZE) != 0)
        return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    return container_read(block, graph->binary_size - BINARY_MARK_SIZE, container)
               ? ZE_RESULT_SUCCESS
               : ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
}

/* 0, or OpenVINO's status; the model holds the weights by their address. */
static int compile(struct graph *graph, const struct container *container, const char *xml,
                   size_t xml_size)
{
    const struct openvino *ov = graph->openvino;
    const int u8 = 16;
    int64_t dimensions[] = {(int64_t)container->weights_size};
    const struct openvino_shape shape = {1, dimensions};
    void *weights = NULL, *model = NULL;
    int status = 0;
    if (container->weights_size)
        status = ov->tensor_from_host(u8, shape, (void *)container->weights, &weights);
    if (!status)
        status = ov->core_read_model(ov->core, xml, xml_size, weights, &model);
    if (!status)
        /* In f32, so that results do not depend on what the CPU has units for. */
        status = ov->core_compile_model(ov->core, model, "CPU", 4, &graph->compiled,
                                        "INFERENCE_PRECISION_HINT", "f32", "PERF_COUNT",
                                        graph->has_counters ? "YES" : "NO");
    if (!status)
        status = ov->compiled_create_request(graph->compiled, &graph->request);
    if (model)
        ov->model_free(model);
    if (weights)
        ov->tensor_free(weights);
    return status;
}

static bool describe_port(const struct openvino *ov, void *port, struct graph_argument *argument)
{
    struct openvino_shape shape = {0};
    int type = 0;
    if (ov->port_shape(port, &shape))
        return false; /* it has one only if it is static */
    const bool has_type = ov->port_type(port, &type) == 0;
    argument->type = has_type ? element_type_of_openvino(type) : NULL;
    argument->rank = (size_t)shape.rank;
    argument->dimensions = malloc((argument->rank ? argument->rank : 1) * sizeof(int64_t));
    uint64_t elements = 1;
    for (size_t i = 0; argument->dimensions && i < argument->rank; i++) {
        argument->dimensions[i] = shape.dimensions[i];
        elements *= (uint64_t)shape.dimensions[i];
    }
    ov->shape_free(&shape);
    if (!argument->type || !argument->dimensions)
        return false;
    argument->size = (size_t)((elements * argument->type->bits + 7) / 8);
    return true;
}

static void trace_argument(const struct graph *graph, size_t i)
{
    const struct graph_argument *argument = &graph->arguments[i];
    char shape[256] = "", word[3 * IR_NAME_SIZE];
    if (!trace_is_on())
        return;
    for (size_t d = 0, used = 0; d < argument->rank && used < sizeof shape; d++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%lld", d ? "x" : "",
                                 (long long)argument->dimensions[d]);
    trace("graph_argument graph=%p index=%zu kind=%s%s type=%s shape=%s name=%s tensor_name=%s",
          (void *)graph, i, argument->port.is_state ? "state_" : "",
          argument->is_input ? "input" : "output", argument->type->name, shape,
          trace_word(argument->port.name, word, sizeof word / 2),
          trace_word(argument->port.tensor_name_count ? argument->port.tensor_names[0] : "",
                     word + sizeof word / 2, sizeof word / 2));
}

/* Describe one argument from what OpenVINO says about the compiled model's port. */
static ze_result_t describe_argument(struct graph *graph, size_t i, char *log, size_t log_size)
{
    const struct openvino *ov = graph->openvino;
    struct graph_argument *argument = &graph->arguments[i];
    void *port = NULL;
    int status = argument->is_input
                     ? ov->compiled_input(graph->compiled, argument->index, &port)
                     : ov->compiled_output(graph->compiled, argument->index, &port);
    const bool is_described = !status && describe_port(ov, port, argument);
    if (port)
        ov->port_free(port);
    if (!is_described) {
        snprintf(log, log_size, "%s has a dynamic shape, or a type that the software NPU has not",
                 argument->port.name);
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    }
    if (argument->rank > GRAPH_PROPERTIES_RANK) { /* OpenVINO would take the first five for all */
        snprintf(log, log_size, "%s has %zu dimensions, and the graph extension describes %d",
                 argument->port.name, argument->rank, GRAPH_PROPERTIES_RANK);
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    }
    if (argument->port.is_state && !argument->is_input) {
        graph->staging[i] = malloc(argument->size + 1);
        if (!graph->staging[i])
            return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    trace_argument(graph, i);
    return ZE_RESULT_SUCCESS;
}

/* Add the inputs or outputs that are states, or those that are not. */
static void add_arguments(struct graph *graph, const struct ir *ir, bool inputs, bool states)
{
    const size_t count = inputs ? ir->input_count : ir->output_count;
    for (size_t index = 0; index < count; index++) {
        const struct ir_port *port = inputs ? &ir->inputs[index] : &ir->outputs[index];
        if (port->is_state != states)
            continue;
        struct graph_argument *argument = &graph->arguments[graph->count++];
        argument->port = *port;
        argument->is_input = inputs;
        argument->index = index;
    }
}

static ze_result_t describe(struct graph *graph, const struct ir *ir, char *log, size_t log_size)
{
    size_t inputs = 0, outputs = 0;
    graph->openvino->compiled_input_count(graph->compiled, &inputs);
    graph->openvino->compiled_output_count(graph->compiled, &outputs);
    if (inputs != ir->input_count || outputs != ir->output_count) {
        snprintf(log, log_size, "the model's inputs and outputs are not those of its file");
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    }
    graph->arguments = calloc(inputs + outputs + 1, sizeof *graph->arguments);
    graph->values = calloc(inputs + outputs + 1, sizeof *graph->values);
    graph->staging = calloc(inputs + outputs + 1, sizeof *graph->staging);
    if (!graph->arguments || !graph->values || !graph->staging)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    /* The plugin counts a model's own inputs and outputs from 0, so states come behind them. */
    add_arguments(graph, ir, true, false);
    add_arguments(graph, ir, true, true);
    add_arguments(graph, ir, false, false);
    add_arguments(graph, ir, false, true);
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (size_t i = 0; i < graph->count && result == ZE_RESULT_SUCCESS; i++)
        result = describe_argument(graph, i, log, log_size);
    return result;
}

static ze_result_t build(struct graph *graph, char *log, size_t log_size)
{
    struct container container;
    struct ir ir;
    ze_result_t result = read_container(graph, &container);
    if (result != ZE_RESULT_SUCCESS) {
        snprintf(log, log_size, "not a model, or not a binary of the software NPU");
        return result;
    }
    graph->openvino = openvino_c(log, log_size);
    if (!graph->openvino)
        return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
    if (!ir_read(container.xml, container.xml_size, &ir)) {
        snprintf(log, log_size, "the model's XML cannot be read");
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    }
    const char *xml = ir.stateless ? ir.stateless : container.xml;
    const size_t xml_size = ir.stateless ? strlen(ir.stateless) : container.xml_size;
    if (compile(graph, &container, xml, xml_size)) {
        snprintf(log, log_size, "%s", graph->openvino->last_error());
        result = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    } else {
        result = describe(graph, &ir, log, log_size);
    }
    ir_free(&ir);
    return result;
}

static void restart(void *pointer)
{
    struct graph *graph = pointer;
    pthread_mutex_init(&graph->mutex, NULL);
    pthread_mutex_init(&graph->running, NULL);
}

ze_result_t graph_create(struct context *context, bool is_binary, bool has_counters,
                         const uint8_t *input, size_t size, struct graph **out, char *log,
                         size_t log_size)
{
    struct graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    graph->context = object_hold(context);
    graph->has_counters = has_counters;
    restart(graph);
    graph->object.restart = restart;
    ze_result_t result = keep_binary(graph, is_binary, input, size)
                             ? build(graph, log, log_size)
                             : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    trace("graph_create graph=%p binary=%d size=%zu result=0x%x", (void *)graph, is_binary, size,
          result);
    if (result != ZE_RESULT_SUCCESS) {
        release(graph);
        return result;
    }
    object_publish(&graph->object, OBJECT_GRAPH, release);
    *out = graph;
    return ZE_RESULT_SUCCESS;
}
