/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_strides.h"

#include <string.h>

/* Strides count elements, and begin with the innermost dimension (seen from OpenVINO 2026.4.1). */
static size_t step(const struct graph_argument *argument, const struct graph_value *value,
                   size_t dimension)
{
    return (size_t)value->strides[argument->rank - 1 - dimension] * argument->type->bits / 8;
}

size_t graph_strides_extent(const struct graph_argument *argument, const struct graph_value *value)
{
    if (!value->has_strides)
        return argument->size;
    if (argument->type->bits % 8)
        return 0;
    size_t extent = argument->type->bits / 8;
    for (size_t d = 0; d < argument->rank; d++) {
        size_t more;
        if (argument->dimensions[d] == 0)
            return extent;
        if (__builtin_mul_overflow((size_t)argument->dimensions[d] - 1, step(argument, value, d),
                                   &more) ||
            __builtin_add_overflow(extent, more, &extent))
            return 0;
    }
    return extent;
}

/* Copy what lies in one dimension and those within it; returns where the next is in `dense`. */
static char *copy(const struct graph_argument *argument, const struct graph_value *value,
                  size_t dimension, char *apart, char *dense, bool gathers)
{
    const size_t item = argument->type->bits / 8;
    if (dimension == argument->rank) {
        memcpy(gathers ? dense : apart, gathers ? apart : dense, item);
        return dense + item;
    }
    for (int64_t i = 0; i < argument->dimensions[dimension]; i++)
        dense = copy(argument, value, dimension + 1,
                     apart + (size_t)i * step(argument, value, dimension), dense, gathers);
    return dense;
}

void graph_strides_scatter(const struct graph_argument *argument, const struct graph_value *value,
                           const void *dense)
{
    copy(argument, value, 0, (char *)value->pointer, (char *)dense, false);
}

void graph_strides_gather(const struct graph_argument *argument, const struct graph_value *value,
                          void *dense)
{
    copy(argument, value, 0, (char *)value->pointer, dense, true);
}
