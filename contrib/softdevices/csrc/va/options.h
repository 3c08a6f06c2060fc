/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment asks for. It is read when a display is initialised:
 *
 * SOFTVA_MEMORY=udmabuf|heap|memfd   Where surfaces lie. Without it: the first of these that works.
 * SOFTVA_PITCH_ALIGN=N               Rows are padded to multiples of N bytes, a power of two from
 *                                    1 to 65536. Without it: 64.
 * SOFTVA_TILING=y                    Surfaces are tiled (I915_FORMAT_MOD_Y_TILED).
 * SOFTVA_OBJECTS=separate            Each plane of a surface lies in its own memory object.
 * SOFTVA_LAYERS=separate             Surfaces are not exported as one composed layer.
 * SOFTVA_FAIL=NAME[@N][=STATUS],...  The function NAME (vaDeriveImage, ...) fails, from its call
 *                                    N on (the first is 0) or in all, with this number of a
 *                                    VAStatus or VA_STATUS_ERROR_OPERATION_FAILED.
 * SOFTVA_TRACE=1                     Calls are printed to stderr.
 * SOFTVA_REPORT=FILE|stderr          What still lives when a display ends is written there. */
#ifndef SOFTVA_OPTIONS_H
#define SOFTVA_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "memory.h"

struct softva_options {
    enum softva_memory_source memory;
    uint32_t pitch_align;
    uint64_t modifier;
    bool separate_objects;
    bool separate_layers;
    bool trace;
};

/* Reads them. Gives NULL, or the name of a variable with a value that has no meaning. */
const char *softva_options_read(struct softva_options *options);

#endif
