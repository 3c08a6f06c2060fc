/* SPDX-License-Identifier: Apache-2.0 */
#include "formats.h"

#include "drm_codes.h"

/* Planes that many formats have. */
#define LUMA8 {'y', 1, 0, 0, SOFTVA_DRM_R8}
#define LUMA16 {'y', 2, 0, 0, SOFTVA_DRM_R16}
#define PLANE8(holds, width, height) {holds, 1, width, height, SOFTVA_DRM_R8}
#define PLANE16(holds, width, height) {holds, 2, width, height, SOFTVA_DRM_R16}
#define CHROMA8(width, height) {'c', 2, width, height, SOFTVA_DRM_GR88}
#define CHROMA16(width, height) {'c', 4, width, height, SOFTVA_DRM_GR1616}

/* The layouts are those that va/va.h describes, but for AYUV and XYUV: drivers and FFmpeg put V
 * first in memory, as DRM's codes of these names do. ARGB64 and ABGR64 are left out, because their
 * description there contradicts itself; so are formats that have no use outside old drivers.
 *
 * The first format of a VA_RT_FORMAT_* is the one that a surface gets if no other is asked for. */
const struct softva_format softva_formats[] = {
    /* YUV, luma and interleaved chroma */
    {VA_FOURCC_NV12, VA_RT_FORMAT_YUV420, SOFTVA_CODE('N', 'V', '1', '2'), 2,
     {LUMA8, CHROMA8(1, 1)}, 0, {0}},
    {VA_FOURCC_NV21, VA_RT_FORMAT_YUV420, SOFTVA_CODE('N', 'V', '2', '1'), 2,
     {LUMA8, CHROMA8(1, 1)}, 0, {0}},
    {VA_FOURCC_P010, VA_RT_FORMAT_YUV420_10, SOFTVA_CODE('P', '0', '1', '0'), 2,
     {LUMA16, CHROMA16(1, 1)}, 0, {0}},
    {VA_FOURCC_P012, VA_RT_FORMAT_YUV420_12, SOFTVA_CODE('P', '0', '1', '2'), 2,
     {LUMA16, CHROMA16(1, 1)}, 0, {0}},
    {VA_FOURCC_P016, VA_RT_FORMAT_YUV420_12, SOFTVA_CODE('P', '0', '1', '6'), 2,
     {LUMA16, CHROMA16(1, 1)}, 0, {0}},
    /* YUV, packed 4:2:2 */
    {VA_FOURCC_YUY2, VA_RT_FORMAT_YUV422, SOFTVA_CODE('Y', 'U', 'Y', 'V'), 1,
     {{'p', 4, 1, 0, SOFTVA_CODE('Y', 'U', 'Y', 'V')}}, 0, {0}},
    {VA_FOURCC_UYVY, VA_RT_FORMAT_YUV422, SOFTVA_CODE('U', 'Y', 'V', 'Y'), 1,
     {{'p', 4, 1, 0, SOFTVA_CODE('U', 'Y', 'V', 'Y')}}, 0, {0}},
    {VA_FOURCC_YVYU, VA_RT_FORMAT_YUV422, SOFTVA_CODE('Y', 'V', 'Y', 'U'), 1,
     {{'p', 4, 1, 0, SOFTVA_CODE('Y', 'V', 'Y', 'U')}}, 0, {0}},
    {VA_FOURCC_VYUY, VA_RT_FORMAT_YUV422, SOFTVA_CODE('V', 'Y', 'U', 'Y'), 1,
     {{'p', 4, 1, 0, SOFTVA_CODE('V', 'Y', 'U', 'Y')}}, 0, {0}},
    {VA_FOURCC_Y210, VA_RT_FORMAT_YUV422_10, SOFTVA_CODE('Y', '2', '1', '0'), 1,
     {{'p', 8, 1, 0, SOFTVA_CODE('Y', '2', '1', '0')}}, 0, {0}},
    {VA_FOURCC_Y212, VA_RT_FORMAT_YUV422_12, SOFTVA_CODE('Y', '2', '1', '2'), 1,
     {{'p', 8, 1, 0, SOFTVA_CODE('Y', '2', '1', '2')}}, 0, {0}},
    {VA_FOURCC_Y216, VA_RT_FORMAT_YUV422_12, SOFTVA_CODE('Y', '2', '1', '6'), 1,
     {{'p', 8, 1, 0, SOFTVA_CODE('Y', '2', '1', '6')}}, 0, {0}},
    /* YUV, planar */
    {VA_FOURCC_I420, VA_RT_FORMAT_YUV420, SOFTVA_CODE('Y', 'U', '1', '2'), 3,
     {LUMA8, PLANE8('u', 1, 1), PLANE8('v', 1, 1)}, 0, {0}},
    {VA_FOURCC_IYUV, VA_RT_FORMAT_YUV420, SOFTVA_CODE('Y', 'U', '1', '2'), 3,
     {LUMA8, PLANE8('u', 1, 1), PLANE8('v', 1, 1)}, 0, {0}},
    {VA_FOURCC_YV12, VA_RT_FORMAT_YUV420, SOFTVA_CODE('Y', 'V', '1', '2'), 3,
     {LUMA8, PLANE8('v', 1, 1), PLANE8('u', 1, 1)}, 0, {0}},
    {VA_FOURCC_I010, VA_RT_FORMAT_YUV420_10, SOFTVA_CODE('S', '0', '1', '0'), 3,
     {LUMA16, PLANE16('u', 1, 1), PLANE16('v', 1, 1)}, 0, {0}},
    {VA_FOURCC_P208, VA_RT_FORMAT_YUV422, SOFTVA_CODE('N', 'V', '1', '6'), 2,
     {LUMA8, CHROMA8(1, 0)}, 0, {0}},
    {VA_FOURCC_422H, VA_RT_FORMAT_YUV422, SOFTVA_CODE('Y', 'U', '1', '6'), 3,
     {LUMA8, PLANE8('u', 1, 0), PLANE8('v', 1, 0)}, 0, {0}},
    {VA_FOURCC_YV16, VA_RT_FORMAT_YUV422, SOFTVA_CODE('Y', 'V', '1', '6'), 3,
     {LUMA8, PLANE8('v', 1, 0), PLANE8('u', 1, 0)}, 0, {0}},
    {VA_FOURCC_422V, VA_RT_FORMAT_YUV422, 0, 3,
     {LUMA8, PLANE8('u', 0, 1), PLANE8('v', 0, 1)}, 0, {0}},
    {VA_FOURCC_411P, VA_RT_FORMAT_YUV411, SOFTVA_CODE('Y', 'U', '1', '1'), 3,
     {LUMA8, PLANE8('u', 2, 0), PLANE8('v', 2, 0)}, 0, {0}},
    {VA_FOURCC_444P, VA_RT_FORMAT_YUV444, SOFTVA_CODE('Y', 'U', '2', '4'), 3,
     {LUMA8, PLANE8('u', 0, 0), PLANE8('v', 0, 0)}, 0, {0}},
    {VA_FOURCC_YV24, VA_RT_FORMAT_YUV444, SOFTVA_CODE('Y', 'V', '2', '4'), 3,
     {LUMA8, PLANE8('v', 0, 0), PLANE8('u', 0, 0)}, 0, {0}},
    /* YUV, packed 4:4:4 */
    {VA_FOURCC_AYUV, VA_RT_FORMAT_YUV444, SOFTVA_CODE('A', 'Y', 'U', 'V'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('A', 'Y', 'U', 'V')}}, 0, {0}},
    {VA_FOURCC_XYUV, VA_RT_FORMAT_YUV444, SOFTVA_CODE('X', 'Y', 'U', 'V'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('X', 'Y', 'U', 'V')}}, 0, {0}},
    {VA_FOURCC_Y410, VA_RT_FORMAT_YUV444_10, SOFTVA_CODE('Y', '4', '1', '0'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('Y', '4', '1', '0')}}, 0, {0}},
    {VA_FOURCC_Y412, VA_RT_FORMAT_YUV444_12, SOFTVA_CODE('Y', '4', '1', '2'), 1,
     {{'p', 8, 0, 0, SOFTVA_CODE('Y', '4', '1', '2')}}, 0, {0}},
    {VA_FOURCC_Y416, VA_RT_FORMAT_YUV444_12, SOFTVA_CODE('Y', '4', '1', '6'), 1,
     {{'p', 8, 0, 0, SOFTVA_CODE('Y', '4', '1', '6')}}, 0, {0}},
    /* Gray */
    {VA_FOURCC_Y800, VA_RT_FORMAT_YUV400, SOFTVA_DRM_R8, 1, {LUMA8}, 0, {0}},
    {VA_FOURCC_Y8, VA_RT_FORMAT_YUV400, SOFTVA_DRM_R8, 1, {LUMA8}, 0, {0}},
    {VA_FOURCC_Y16, VA_RT_FORMAT_YUV400, SOFTVA_DRM_R16, 1, {LUMA16}, 0, {0}},
    /* RGB, packed; DRM names the bytes of a pixel from the highest to the lowest */
    {VA_FOURCC_BGRA, VA_RT_FORMAT_RGB32, SOFTVA_CODE('A', 'R', '2', '4'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('A', 'R', '2', '4')}},
     32, {0xff0000, 0xff00, 0xff, 0xff000000}},
    {VA_FOURCC_BGRX, VA_RT_FORMAT_RGB32, SOFTVA_CODE('X', 'R', '2', '4'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('X', 'R', '2', '4')}}, 24, {0xff0000, 0xff00, 0xff, 0}},
    {VA_FOURCC_RGBA, VA_RT_FORMAT_RGB32, SOFTVA_CODE('A', 'B', '2', '4'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('A', 'B', '2', '4')}},
     32, {0xff, 0xff00, 0xff0000, 0xff000000}},
    {VA_FOURCC_RGBX, VA_RT_FORMAT_RGB32, SOFTVA_CODE('X', 'B', '2', '4'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('X', 'B', '2', '4')}}, 24, {0xff, 0xff00, 0xff0000, 0}},
    {VA_FOURCC_ARGB, VA_RT_FORMAT_RGB32, SOFTVA_CODE('B', 'A', '2', '4'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('B', 'A', '2', '4')}},
     32, {0xff00, 0xff0000, 0xff000000, 0xff}},
    {VA_FOURCC_XRGB, VA_RT_FORMAT_RGB32, SOFTVA_CODE('B', 'X', '2', '4'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('B', 'X', '2', '4')}}, 24, {0xff00, 0xff0000, 0xff000000, 0}},
    {VA_FOURCC_ABGR, VA_RT_FORMAT_RGB32, SOFTVA_CODE('R', 'A', '2', '4'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('R', 'A', '2', '4')}},
     32, {0xff000000, 0xff0000, 0xff00, 0xff}},
    {VA_FOURCC_XBGR, VA_RT_FORMAT_RGB32, SOFTVA_CODE('R', 'X', '2', '4'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('R', 'X', '2', '4')}}, 24, {0xff000000, 0xff0000, 0xff00, 0}},
    {VA_FOURCC_RGB565, VA_RT_FORMAT_RGB16, SOFTVA_CODE('R', 'G', '1', '6'), 1,
     {{'p', 2, 0, 0, SOFTVA_CODE('R', 'G', '1', '6')}}, 16, {0xf800, 0x7e0, 0x1f, 0}},
    {VA_FOURCC_BGR565, VA_RT_FORMAT_RGB16, SOFTVA_CODE('B', 'G', '1', '6'), 1,
     {{'p', 2, 0, 0, SOFTVA_CODE('B', 'G', '1', '6')}}, 16, {0x1f, 0x7e0, 0xf800, 0}},
    {VA_FOURCC_A2R10G10B10, VA_RT_FORMAT_RGB32_10, SOFTVA_CODE('A', 'R', '3', '0'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('A', 'R', '3', '0')}},
     32, {0x3ff00000, 0xffc00, 0x3ff, 0xc0000000}},
    {VA_FOURCC_X2R10G10B10, VA_RT_FORMAT_RGB32_10, SOFTVA_CODE('X', 'R', '3', '0'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('X', 'R', '3', '0')}}, 30, {0x3ff00000, 0xffc00, 0x3ff, 0}},
    {VA_FOURCC_A2B10G10R10, VA_RT_FORMAT_RGB32_10, SOFTVA_CODE('A', 'B', '3', '0'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('A', 'B', '3', '0')}},
     32, {0x3ff, 0xffc00, 0x3ff00000, 0xc0000000}},
    {VA_FOURCC_X2B10G10R10, VA_RT_FORMAT_RGB32_10, SOFTVA_CODE('X', 'B', '3', '0'), 1,
     {{'p', 4, 0, 0, SOFTVA_CODE('X', 'B', '3', '0')}}, 30, {0x3ff, 0xffc00, 0x3ff00000, 0}},
    /* RGB, planar: DRM has no codes for these */
    {VA_FOURCC_RGBP, VA_RT_FORMAT_RGBP, 0, 3,
     {PLANE8('r', 0, 0), PLANE8('g', 0, 0), PLANE8('b', 0, 0)}, 0, {0}},
    {VA_FOURCC_BGRP, VA_RT_FORMAT_RGBP, 0, 3,
     {PLANE8('b', 0, 0), PLANE8('g', 0, 0), PLANE8('r', 0, 0)}, 0, {0}},
};

const size_t softva_format_count = sizeof softva_formats / sizeof *softva_formats;

const struct softva_format *softva_format_of(uint32_t fourcc)
{
    for (size_t i = 0; i < softva_format_count; i++)
        if (softva_formats[i].fourcc == fourcc)
            return &softva_formats[i];
    return NULL;
}

const struct softva_format *softva_format_of_rt(uint32_t rt_format)
{
    for (size_t i = 0; i < softva_format_count; i++)
        if (softva_formats[i].rt_format & rt_format)
            return &softva_formats[i];
    return NULL;
}

uint32_t softva_rt_formats(void)
{
    uint32_t all = 0;

    for (size_t i = 0; i < softva_format_count; i++)
        all |= softva_formats[i].rt_format;
    return all;
}

VAImageFormat softva_image_format(const struct softva_format *format)
{
    VAImageFormat image = {.fourcc = format->fourcc, .byte_order = VA_LSB_FIRST};

    for (uint32_t i = 0; i < format->plane_count; i++) {
        const struct softva_plane_format *plane = &format->planes[i];

        image.bits_per_pixel += plane->bytes * 8u >> (plane->log2_width + plane->log2_height);
    }
    image.depth = format->depth;
    image.red_mask = format->masks[0];
    image.green_mask = format->masks[1];
    image.blue_mask = format->masks[2];
    image.alpha_mask = format->masks[3];
    return image;
}

static uint32_t scaled_down(uint32_t length, unsigned int log2)
{
    return (length + (1u << log2) - 1) >> log2;
}

uint32_t softva_plane_cells(const struct softva_plane_format *plane, uint32_t width)
{
    return scaled_down(width, plane->log2_width);
}

uint32_t softva_plane_rows(const struct softva_plane_format *plane, uint32_t height)
{
    return scaled_down(height, plane->log2_height);
}

uint32_t softva_row_bytes(const struct softva_plane_format *plane, uint32_t width)
{
    return softva_plane_cells(plane, width) * plane->bytes;
}
