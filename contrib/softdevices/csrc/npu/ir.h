/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver reads from the XML of a model by itself, since OpenVINO's C API does not report it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define IR_NAME_SIZE 256
#define IR_TENSOR_NAMES 32

/* An input or output of the model, or a variable, which the NPU has as one of each. */
struct ir_port {
    bool is_state;
    char name[IR_NAME_SIZE]; /* of the layer; for a state as OpenVINO's plugin expects it */
    char tensor_names[IR_TENSOR_NAMES][IR_NAME_SIZE];
    size_t tensor_name_count;
    char layer[24];    /* its number in the file */
    bool passes_input; /* an output that is an input, unchanged ... */
    size_t input;      /* ... this one */
};

/* Inputs and outputs come in the order in which OpenVINO numbers them. */
struct ir {
    struct ir_port *inputs, *outputs;
    size_t input_count, output_count;
    char *supported; /* the names of all layers as "<a><b>" */
    char *stateless; /* the XML with variables as inputs and outputs; NULL if it has none */
};

/* Read a model; false without memory or if it is not an IR. */
bool ir_read(const char *xml, size_t size, struct ir *ir);
void ir_free(struct ir *ir);
