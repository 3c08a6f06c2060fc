/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiling extension: pools of a graph's queries, each of which takes the times of the layers
 * of one execution. Source: ze_graph_profiling_ext.h of intel/level-zero-npu-extensions.
 */
#pragma once

#include "graph.h"

struct profiling_query;

const void *profiling_extension_table(void);

/* Follow a handle: the query with one more reference if it is one of the graph's, or NULL. */
struct profiling_query *profiling_query_get(const void *handle, const struct graph *graph);

/* Keep the times of an execution, in place of those of the one before; takes `layers`. */
void profiling_query_fill(struct profiling_query *query, struct graph_layers layers);
