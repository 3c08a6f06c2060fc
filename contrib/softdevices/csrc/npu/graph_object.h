/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph is made of, for the two files that are about it. */
#pragma once

#include "graph.h"
#include "openvino_c.h"

struct graph {
    struct object object;
    struct context *context;
    const struct openvino *openvino;
    uint8_t *binary; /* the model's weights lie in it */
    size_t binary_size;
    bool has_counters; /* of the times of layers */
    void *compiled;
    pthread_mutex_t running; /* the device runs one inference of a graph at a time */
    void *request;
    pthread_mutex_t mutex; /* of the values */
    struct graph_value *values;
    void **staging; /* of the states' outputs, see bind() */
    struct graph_argument *arguments;
    size_t count;
};
