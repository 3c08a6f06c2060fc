/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element types, as OpenVINO, its IR files and the graph extension name them.
 * Sources: openvino/c/ov_common.h (ov_element_type_e of OpenVINO 2026), the IR's attributes, and
 * ze_graph_argument_precision_t and ze_graph_metadata_type of ze_graph_ext.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct element_type {
    int openvino;
    const char *name;         /* in the IR's element_type, and for people */
    const char *precision;    /* in the IR's ports */
    unsigned bits;
    uint32_t graph_precision; /* 0: the extension cannot say */
    uint32_t graph_metadata;  /* 0: the extension cannot say */
};

/* NULL for a type that an argument of a graph cannot have. */
const struct element_type *element_type_of_openvino(int type);
const struct element_type *element_type_of_precision(const char *precision);
