/* SPDX-License-Identifier: Apache-2.0 */
/* The pixel formats of the driver. */
#ifndef SOFTVA_FORMATS_H
#define SOFTVA_FORMATS_H

#include <stddef.h>
#include <stdint.h>
#include <va/va.h>

enum { SOFTVA_MAX_PLANES = 3 };

/* What a plane is made of: cells of `bytes`, each for 2^log2_width x 2^log2_height pixels. */
struct softva_plane_format {
    char holds; /* 'y', 'u', 'v', 'r', 'g', 'b'; 'c': u and v by turns; 'p': whole pixels */
    uint8_t bytes;
    uint8_t log2_width, log2_height;
    uint32_t drm; /* as a layer of its own */
};

struct softva_format {
    uint32_t fourcc;
    uint32_t rt_format;
    uint32_t drm; /* of all planes together; 0 if DRM has no code for it */
    uint32_t plane_count;
    struct softva_plane_format planes[SOFTVA_MAX_PLANES];
    /* Of RGB: significant bits, and the masks of red, green, blue and alpha in a pixel's word. */
    uint8_t depth;
    uint32_t masks[4];
};

extern const struct softva_format softva_formats[];
extern const size_t softva_format_count;

/* Gives the format of this code, or NULL. */
const struct softva_format *softva_format_of(uint32_t fourcc);

/* Gives the format of a surface made with no more than a VA_RT_FORMAT_*, or NULL. */
const struct softva_format *softva_format_of_rt(uint32_t rt_format);

/* All VA_RT_FORMAT_* that there are formats for. */
uint32_t softva_rt_formats(void);

/* Describes `format` as vaQueryImageFormats does. */
VAImageFormat softva_image_format(const struct softva_format *format);

/* Cells in a row of a plane of `width` pixels, and rows of a plane of `height` pixels. */
uint32_t softva_plane_cells(const struct softva_plane_format *plane, uint32_t width);
uint32_t softva_plane_rows(const struct softva_plane_format *plane, uint32_t height);

/* Bytes of such a row. */
uint32_t softva_row_bytes(const struct softva_plane_format *plane, uint32_t width);

#endif
