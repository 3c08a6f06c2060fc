/* SPDX-License-Identifier: Apache-2.0 */
/* Where the planes of a picture lie. */
#ifndef SOFTVA_LAYOUT_H
#define SOFTVA_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "formats.h"

/* Memory objects of one surface; VADRMPRIMESurfaceDescriptor has room for no more. */
enum { SOFTVA_MAX_OBJECTS = 4 };

struct softva_plane {
    uint32_t object;
    uint32_t offset, pitch; /* in bytes */
};

struct softva_layout {
    uint64_t modifier;
    uint32_t object_count;
    size_t object_sizes[SOFTVA_MAX_OBJECTS];
    struct softva_plane planes[SOFTVA_MAX_PLANES];
};

/* Lays a picture out. `layout->modifier` is given; `separate` wants an object for each plane. */
void softva_lay_out(struct softva_layout *layout, const struct softva_format *format,
                    uint32_t width, uint32_t height, uint32_t pitch_align, bool separate);

/* Whether all planes lie within their objects, of which each has the size in the layout, and rows
 * are long enough. */
bool softva_layout_fits(const struct softva_layout *layout, const struct softva_format *format,
                        uint32_t width, uint32_t height);

#endif
