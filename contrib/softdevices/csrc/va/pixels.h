/* SPDX-License-Identifier: Apache-2.0 */
/* The pixels of a picture, for the CPU. */
#ifndef SOFTVA_PIXELS_H
#define SOFTVA_PIXELS_H

#include <stdbool.h>

#include "formats.h"

/* Intel's Y tiles: 128 bytes wide and 32 rows high, made of columns of 16 bytes. A row of tiles
 * follows the one above it, and a column the one left of it. (Intel's Programmer's Reference
 * Manuals, volume "Memory Views", "Tiling Formats".) */
enum {
    SOFTVA_TILE_WIDTH = 128,
    SOFTVA_TILE_HEIGHT = 32,
    SOFTVA_TILE_BYTES = SOFTVA_TILE_WIDTH * SOFTVA_TILE_HEIGHT,
};

struct softva_picture {
    const struct softva_format *format;
    uint32_t width, height;
    bool tiled;
    uint8_t *planes[SOFTVA_MAX_PLANES];
    uint32_t pitches[SOFTVA_MAX_PLANES];
};

/* A part of a picture, in pixels. */
struct softva_area {
    uint32_t x, y, width, height;
};

/* Whether `area` lies within a picture of this size, and is not empty. */
bool softva_area_is_within(const struct softva_area *area, uint32_t width, uint32_t height);

/* Whether the planes of one format hold what those of the other hold, perhaps in another order. */
bool softva_same_planes(const struct softva_format *one, const struct softva_format *other);

/* The byte `x` of row `y` of a plane. */
uint8_t *softva_pixel_at(const struct softva_picture *picture, uint32_t plane, uint32_t x, uint32_t y);

/* Copies the area `from` of `source` to the area `to` of `target`, each within its picture; scaled
 * to the nearest pixel if they differ in size. Their formats have the same planes. */
void softva_copy(const struct softva_picture *target, const struct softva_area *to,
                 const struct softva_picture *source, const struct softva_area *from);

#endif
