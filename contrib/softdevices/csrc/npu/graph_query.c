/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_query.h"

#include "container.h"
#include "ir.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

struct graph_query {
    struct object object;
    char *layers;
};

static void release(void *pointer)
{
    struct graph_query *query = pointer;
    free(query->layers);
    free(query);
}

ze_result_t graph_query_create(const uint8_t *input, size_t size, void **out)
{
    struct container container;
    struct ir ir;
    /* The CPU plugin runs every operation that OpenVINO has, so all layers are supported. */
    if (!container_read(input, size, &container) ||
        !ir_read(container.xml, container.xml_size, &ir))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    struct graph_query *query = calloc(1, sizeof *query);
    if (query) {
        query->layers = ir.supported;
        ir.supported = NULL;
        object_publish(&query->object, OBJECT_GRAPH_QUERY, release);
        *out = query;
        trace("graph_query query=%p", (void *)query);
    }
    ir_free(&ir);
    return query ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

const char *graph_query_layers(const struct graph_query *query)
{
    return query->layers;
}
