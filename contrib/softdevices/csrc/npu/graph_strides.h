/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments whose elements lie apart: pfnSetArgumentValue2 of the graph extension 1.15. */
#pragma once

#include "graph.h"

/* The bytes from an argument's first element to the end of its last; 0 for strides that it cannot
 * have: elements of parts of bytes, or more dimensions than GRAPH_PROPERTIES_RANK. */
size_t graph_strides_extent(const struct graph_argument *argument, const struct graph_value *value);

/* Copy a dense argument to where its elements lie, or from there. */
void graph_strides_scatter(const struct graph_argument *argument, const struct graph_value *value,
                           const void *dense);
void graph_strides_gather(const struct graph_argument *argument, const struct graph_value *value,
                          void *dense);
