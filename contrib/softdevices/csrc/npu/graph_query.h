/* SPDX-License-Identifier: Apache-2.0 */
/* core.query_model(model, "NPU"): which layers the device would run. */
#pragma once

#include "object.h"

struct graph_query;

/* Ask about the model in a container (container.h). */
ze_result_t graph_query_create(const uint8_t *input, size_t size, void **out);

/* The supported layers as "<name><name>"; belongs to the query. */
const char *graph_query_layers(const struct graph_query *query);
