/* SPDX-License-Identifier: Apache-2.0 */
/* The times of a graph's layers, as OpenVINO's CPU plugin counts them. */
#include "graph_object.h"

#include <stdio.h>
#include <stdlib.h>

#define NS_OF_US 1000u
#define NOT_RUN 1 /* ze_layer_status_t begins with it, OpenVINO's states with 0 in the same order */

static void describe(const struct openvino_layer *from, uint64_t start_ns,
                     struct graph_profiling_layer *to)
{
    snprintf(to->name, sizeof to->name, "%s", from->name ? from->name : "");
    snprintf(to->type, sizeof to->type, "%s", from->type ? from->type : "");
    to->status = (uint32_t)from->status + NOT_RUN;
    to->start_ns = start_ns;
    to->duration_ns = (uint64_t)from->real_us * NS_OF_US;
    to->software_ns = (uint64_t)from->cpu_us * NS_OF_US;
}

bool graph_has_counters(const struct graph *graph)
{
    return graph->has_counters;
}

/* The plugin gives no starts, so each layer starts where the one before it ends. */
struct graph_layers graph_layers(struct graph *graph, uint64_t start_ns)
{
    const struct openvino *ov = graph->openvino;
    struct graph_layers layers = {0};
    struct openvino_layers found = {0};
    if (ov->request_layers(graph->request, &found))
        return layers;
    layers.items = calloc(found.count + 1, sizeof *layers.items);
    layers.count = layers.items ? found.count : 0;
    for (size_t i = 0; i < layers.count; i++) {
        describe(&found.items[i], start_ns, &layers.items[i]);
        start_ns += layers.items[i].duration_ns;
    }
    ov->layers_free(&found);
    return layers;
}
