/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How models come to the driver and leave it.
 *
 * OpenVINO's plugin hands a model to the driver's compiler as one block (its VCLSerializer; format
 * "NGRAPH_LITE" of the graph extension): compiler version (2 x uint16), number of parts (uint32,
 * 2), size of the XML (uint64), the XML, size of the weights (uint64), the weights.
 * Our "native binary", what compiled models are exported as, is a mark and that same block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct container {
    const char *xml;
    size_t xml_size; /* without zeros at its end */
    const uint8_t *weights;
    size_t weights_size;
};

#define BINARY_MARK "SOFTNPU\1"
#define BINARY_MARK_COUNTERS "SOFTNPU\2" /* compiled with counters of the times of layers */
#define BINARY_MARK_SIZE 8

/* Find the parts in a block; false if it is not one. */
bool container_read(const uint8_t *block, size_t size, struct container *container);
