/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the graph extension: what OpenVINO's NPU plugin calls. */
#include "graph_extension.h"

#include "command_list.h"
#include "config.h"
#include "graph.h"
#include "graph_extension_arguments.h"
#include "graph_query.h"
#include "memory.h"
#include "profiling.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_SIZE 4096
#define MEMORY_OF_DEVICE 1 /* ze_graph_memory_query_type_t: ZE_GRAPH_QUERY_MEMORY_DDR */

struct build_log {
    struct object object;
    char text[LOG_SIZE];
};

/* ze_graph_handle_t, which ze_graph_profiling_ext.h declares. */
typedef struct graph *graph_handle;

/* Give a text in the way of Level Zero: its size first, then the text. */
static ze_result_t give_text(const char *text, size_t *size, char *out)
{
    const size_t needed = strlen(text) + 1;
    if (out && *size > 0)
        snprintf(out, *size, "%s", text);
    *size = needed;
    return ZE_RESULT_SUCCESS;
}

/* The build flags end with --config KEY="VALUE" ...; a binary remembers its own. */
static bool wants_counters(const struct graph_descriptor *descriptor)
{
    return descriptor->build_flags && strstr(descriptor->build_flags, "PERF_COUNT=\"YES\"");
}

static ze_result_t create_graph(ze_context_handle_t handle, ze_device_handle_t device_handle,
                                const struct graph_descriptor *descriptor, graph_handle *out,
                                char *log)
{
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    HELD struct device *device = object_get(device_handle, OBJECT_DEVICE);
    struct graph *graph = NULL;
    *log = '\0';
    if (!context)
        return object_missing(handle);
    if (!device)
        return object_missing(device_handle);
    if (!descriptor || !descriptor->input || !out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (descriptor->format != GRAPH_FORMAT_NATIVE && descriptor->format != GRAPH_FORMAT_IR)
        return ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
    ze_result_t result =
        graph_create(context, descriptor->format == GRAPH_FORMAT_NATIVE, wants_counters(descriptor),
                     descriptor->input, descriptor->input_size, &graph, log, LOG_SIZE);
    if (result == ZE_RESULT_SUCCESS)
        *out = graph;
    return result;
}

/* Why the last creation on this thread failed, for get_last_log(). */
static _Thread_local char last_log[LOG_SIZE];

/* Versions 1.0 and 1.5: their descriptors begin alike, and we need nothing of the rest. */
static ze_result_t create(ze_context_handle_t context, ze_device_handle_t device,
                          const struct graph_descriptor *descriptor, graph_handle *out)
{
    return create_graph(context, device, descriptor, out, last_log);
}

static ze_result_t create_with_log(ze_context_handle_t context, ze_device_handle_t device,
                                   const struct graph_descriptor *descriptor, graph_handle *out,
                                   struct build_log **log_out)
{
    struct build_log *log = calloc(1, sizeof *log);
    if (!log)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    ze_result_t result = create_graph(context, device, descriptor, out, log->text);
    if (log_out) {
        object_publish(&log->object, OBJECT_BUILD_LOG, free);
        *log_out = log;
    } else {
        free(log);
    }
    return result;
}

static ze_result_t log_get_string(const void *handle, uint32_t *size, char *out)
{
    HELD struct build_log *log = object_get(handle, OBJECT_BUILD_LOG);
    if (!log)
        return object_missing(handle);
    if (!size)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    size_t length = *size;
    ze_result_t result = give_text(log->text, &length, out);
    *size = (uint32_t)length;
    return result;
}

static ze_result_t log_destroy(const void *handle)
{
    return object_retire(handle, OBJECT_BUILD_LOG);
}

/* Version 1.4: a graph that exists has nothing to say, so NULL asks about the one that does not. */
static ze_result_t get_last_log(graph_handle handle, uint32_t *size, char *out)
{
    if (!size)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    size_t length = *size;
    ze_result_t result = give_text(handle ? "" : last_log, &length, out);
    *size = (uint32_t)length;
    return result;
}

static ze_result_t destroy(graph_handle handle)
{
    return object_retire(handle, OBJECT_GRAPH);
}

static ze_result_t get_properties(graph_handle handle, struct graph_properties *properties)
{
    HELD struct graph *graph = object_get(handle, OBJECT_GRAPH);
    if (!graph)
        return object_missing(handle);
    if (!properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    properties->argument_count = (uint32_t)graph_argument_count(graph);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t get_properties_2(graph_handle handle, struct graph_properties *properties)
{
    ze_result_t result = get_properties(handle, properties);
    if (result == ZE_RESULT_SUCCESS)
        properties->init_stage = GRAPH_STAGE_INITIALIZE;
    return result;
}

static ze_result_t get_properties_3(graph_handle handle, struct graph_properties *properties)
{
    ze_result_t result = get_properties_2(handle, properties);
    if (result == ZE_RESULT_SUCCESS)
        properties->flags = GRAPH_FLAG_COMPILED;
    return result;
}

static ze_result_t set_argument(graph_handle handle, uint32_t index, const void *value)
{
    const struct graph_value dense = graph_value(value, NULL);
    HELD struct graph *graph = object_get(handle, OBJECT_GRAPH);
    return graph ? graph_set(graph, index, &dense) : object_missing(handle);
}

/* Version 1.15: a chain of the memory and, where its elements lie apart, the strides. */
static ze_result_t set_argument_2(graph_handle handle, uint32_t index,
                                  const struct graph_value_tensor *chain)
{
    const void *memory = NULL;
    const struct graph_value_strides *strides = NULL;
    for (const struct graph_value_tensor *one = chain; one; one = one->next) {
        if (one->stype == GRAPH_STYPE_VALUE_TENSOR)
            memory = one->tensor;
        else if (one->stype == GRAPH_STYPE_VALUE_STRIDES)
            strides = (const void *)one;
        else
            return ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
    }
    const struct graph_value value = graph_value(memory, strides);
    HELD struct graph *graph = object_get(handle, OBJECT_GRAPH);
    return graph ? graph_set(graph, index, &value) : object_missing(handle);
}

/* Nothing is to be loaded onto a device, by a command list (old) or directly (1.8). */
static ze_result_t append_initialize(ze_command_list_handle_t list, graph_handle handle,
                                     ze_event_handle_t signal, uint32_t wait_count,
                                     ze_event_handle_t *waits)
{
    HELD struct graph *graph = object_get(handle, OBJECT_GRAPH);
    if (!graph)
        return object_missing(handle);
    return command_list_append(list, NULL, signal, wait_count, waits);
}

static ze_result_t initialize(graph_handle handle)
{
    HELD struct graph *graph = object_get(handle, OBJECT_GRAPH);
    return graph ? ZE_RESULT_SUCCESS : object_missing(handle);
}

static ze_result_t append_execute(ze_command_list_handle_t list, graph_handle handle,
                                  const void *profiling, ze_event_handle_t signal,
                                  uint32_t wait_count, ze_event_handle_t *waits)
{
    HELD struct graph *graph = object_get(handle, OBJECT_GRAPH);
    if (!graph)
        return object_missing(handle);
    HELD struct profiling_query *query = profiling ? profiling_query_get(profiling, graph) : NULL;
    if (profiling && !query)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    /* Captured now: the same graph is recorded for other requests with other arguments. */
    struct graph_value *arguments = graph_arguments(graph);
    if (!arguments)
        return ZE_RESULT_ERROR_UNINITIALIZED;
    struct command command = {
        .kind = COMMAND_GRAPH, .graph = graph, .arguments = arguments, .query = query};
    ze_result_t result = command_list_append(list, &command, signal, wait_count, waits);
    free(arguments);
    return result;
}

static ze_result_t get_binary(graph_handle handle, size_t *size, uint8_t *out)
{
    HELD struct graph *graph = object_get(handle, OBJECT_GRAPH);
    size_t needed;
    if (!graph)
        return object_missing(handle);
    if (!size)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const uint8_t *binary = graph_binary(graph, &needed);
    if (out && *size < needed)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    if (out)
        memcpy(out, binary, needed);
    *size = needed;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t get_binary_2(graph_handle handle, size_t *size, const uint8_t **out)
{
    HELD struct graph *graph = object_get(handle, OBJECT_GRAPH);
    if (!graph)
        return object_missing(handle);
    if (!size || !out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *out = graph_binary(graph, size);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t get_device_properties(ze_device_handle_t handle,
                                         struct graph_device_properties *properties)
{
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    properties->extension_version = graph_extension_version();
    properties->compiler = (struct graph_compiler_version){7, 0};
    properties->formats = GRAPH_FORMAT_NATIVE | GRAPH_FORMAT_IR;
    properties->largest_opset = 16;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t get_device_properties_2(ze_device_handle_t handle,
                                           struct graph_device_properties *properties)
{
    ze_result_t result = get_device_properties(handle, properties);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    properties->elf = (struct graph_version){1, 0, 0};
    properties->runtime = (struct graph_version){1, 0, 0};
    return ZE_RESULT_SUCCESS;
}

static ze_result_t get_memory(ze_context_handle_t handle, uint32_t type,
                              struct graph_memory *memory)
{
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    if (!context)
        return object_missing(handle);
    if (!memory)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    memory->total = MEMORY_TOTAL;
    memory->allocated = type == MEMORY_OF_DEVICE ? memory_allocated(context) : 0;
    return ZE_RESULT_SUCCESS;
}

/* The compiler's list: empty, so that the plugin asks for each option that it has. */
static ze_result_t get_options(ze_device_handle_t handle, uint32_t type, size_t *size, char *out)
{
    (void)type;
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    return size ? give_text("", size, out) : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}

static ze_result_t is_option_supported(ze_device_handle_t handle, uint32_t type, const char *option,
                                       const char *value)
{
    static const char *const supported[] = {
        "NPU_PLATFORM", "NPU_COMPILATION_MODE", "NPU_COMPILATION_MODE_PARAMS",
        "INFERENCE_PRECISION_HINT", "EXECUTION_MODE_HINT", "NPU_TILES", "NPU_MAX_TILES",
        "NPU_STEPPING", "PERFORMANCE_HINT", "NPU_TURBO", "PERF_COUNT",
    };
    (void)type, (void)value;
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!option)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    for (size_t i = 0; i < sizeof supported / sizeof *supported; i++)
        if (strcmp(option, supported[i]) == 0)
            return ZE_RESULT_SUCCESS;
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

static ze_result_t query_create(ze_context_handle_t handle, ze_device_handle_t device_handle,
                                const struct graph_descriptor *descriptor, void **out)
{
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    HELD struct device *device = object_get(device_handle, OBJECT_DEVICE);
    if (!context)
        return object_missing(handle);
    if (!device)
        return object_missing(device_handle);
    if (!descriptor || !descriptor->input || !out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    return graph_query_create(descriptor->input, descriptor->input_size, out);
}

static ze_result_t query_get_layers(const void *handle, size_t *size, char *out)
{
    HELD struct graph_query *query = object_get(handle, OBJECT_GRAPH_QUERY);
    if (!query)
        return object_missing(handle);
    return size ? give_text(graph_query_layers(query), size, out)
                : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}

static ze_result_t query_destroy(const void *handle)
{
    return object_retire(handle, OBJECT_GRAPH_QUERY);
}

/* ze_graph_dditable_ext_t, in the order of the header; the versions say when each came. */
static const void *const table[] = {
    /* 1.0 */ (const void *)create, (const void *)destroy, (const void *)get_properties,
    (const void *)graph_get_argument, (const void *)set_argument, (const void *)append_initialize,
    (const void *)append_execute, (const void *)get_binary, (const void *)get_device_properties,
    /* 1.1 */ (const void *)graph_get_metadata, (const void *)graph_get_argument_2,
    /* 1.2 */ (const void *)graph_get_argument_3,
    /* 1.3 */ (const void *)query_create, (const void *)query_destroy,
    (const void *)query_get_layers,
    /* 1.4 */ (const void *)get_last_log,
    /* 1.5 */ (const void *)create, (const void *)query_create, (const void *)get_memory,
    /* 1.6 */ (const void *)get_device_properties_2,
    /* 1.7 */ (const void *)get_binary_2,
    /* 1.8 */ (const void *)get_properties_2, (const void *)initialize,
    /* 1.11 */ (const void *)get_options, (const void *)is_option_supported,
    /* 1.12 */ (const void *)create_with_log, (const void *)get_properties_3,
    (const void *)log_get_string, (const void *)log_destroy,
    /* 1.15 */ (const void *)set_argument_2,
};

uint32_t graph_extension_version(void)
{
    return config()->has_strides ? GRAPH_EXTENSION_WITH_STRIDES : GRAPH_EXTENSION_VERSION;
}

const void *graph_extension_table(void)
{
    return table;
}
