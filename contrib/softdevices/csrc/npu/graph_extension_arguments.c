/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the graph extension that describes a graph's arguments. */
#include "graph_extension_arguments.h"
#include "config.h"

#include <stdio.h>

static void copy_name(char *out, const char *name)
{
    snprintf(out, GRAPH_NAME_SIZE, "%s", name);
}

/* Find the argument; false with the answer to give. */
static bool find_argument(struct graph *handle, uint32_t index, const void *out,
                          struct graph **graph, const struct graph_argument **argument,
                          ze_result_t *result)
{
    *graph = object_get(handle, OBJECT_GRAPH);
    *argument = *graph ? graph_argument(*graph, index) : NULL;
    *result = !*graph      ? object_missing(handle)
              : !out       ? ZE_RESULT_ERROR_INVALID_NULL_POINTER
              : !*argument ? ZE_RESULT_ERROR_INVALID_ARGUMENT
                           : ZE_RESULT_SUCCESS;
    return *result == ZE_RESULT_SUCCESS;
}

/* Version 1.0: the part that all versions of the structure have. */
ze_result_t graph_get_argument(struct graph *handle, uint32_t index,
                               struct graph_argument_properties *out)
{
    HELD struct graph *graph = NULL;
    const struct graph_argument *argument;
    ze_result_t result;
    if (!find_argument(handle, index, out, &graph, &argument, &result))
        return result;
    copy_name(out->name, argument->port.name);
    out->type = argument->is_input ? GRAPH_ARGUMENT_INPUT : GRAPH_ARGUMENT_OUTPUT;
    for (size_t i = 0; i < GRAPH_PROPERTIES_RANK; i++)
        out->dimensions[i] = i < argument->rank ? (uint32_t)argument->dimensions[i] : 1;
    out->network_precision = out->device_precision = argument->type->graph_precision;
    out->network_layout = out->device_layout = 0; /* any */
    return ZE_RESULT_SUCCESS;
}

ze_result_t graph_get_argument_2(struct graph *handle, uint32_t index,
                                 struct graph_argument_properties *out)
{
    ze_result_t result = graph_get_argument(handle, index, out);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    out->scale = 1;
    out->zero_point = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t graph_get_argument_3(struct graph *handle, uint32_t index,
                                 struct graph_argument_properties *out)
{
    HELD struct graph *graph = NULL;
    const struct graph_argument *argument;
    ze_result_t result;
    if (!find_argument(handle, index, out, &graph, &argument, &result))
        return result;
    result = graph_get_argument_2(handle, index, out);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    /* Callers of versions before 1.15 leave `next` as it is. */
    struct graph_property_strides *more = config()->has_strides ? out->next : NULL;
    for (; more; more = more->next)
        if (more->stype == GRAPH_STYPE_PROPERTY_STRIDES)
            more->supported = argument->type->bits % 8 == 0;
    out->rank = (uint32_t)argument->rank;
    copy_name(out->friendly_name, argument->port.name);
    for (size_t i = 0; i < argument->port.tensor_name_count; i++)
        copy_name(out->tensor_names[i], argument->port.tensor_names[i]);
    out->tensor_name_count = (uint32_t)argument->port.tensor_name_count;
    return ZE_RESULT_SUCCESS;
}

ze_result_t graph_get_metadata(struct graph *handle, uint32_t index,
                               struct graph_argument_metadata *out)
{
    HELD struct graph *graph = NULL;
    const struct graph_argument *argument;
    ze_result_t result;
    if (!find_argument(handle, index, out, &graph, &argument, &result))
        return result;
    out->type = argument->is_input ? GRAPH_ARGUMENT_INPUT : GRAPH_ARGUMENT_OUTPUT;
    copy_name(out->friendly_name, argument->port.name);
    copy_name(out->input_name, argument->port.name);
    out->data_type = argument->type->graph_metadata;
    for (size_t i = 0; i < GRAPH_METADATA_RANK; i++)
        out->shape[i] = i < argument->rank ? (uint64_t)argument->dimensions[i] : 0;
    out->rank = (uint32_t)argument->rank;
    for (size_t i = 0; i < argument->port.tensor_name_count; i++)
        copy_name(out->tensor_names[i], argument->port.tensor_names[i]);
    out->tensor_name_count = (uint32_t)argument->port.tensor_name_count;
    return ZE_RESULT_SUCCESS;
}
