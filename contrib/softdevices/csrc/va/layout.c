/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include "drm_codes.h"
#include "pixels.h"

/* Video hardware works on blocks of 16 x 16 pixels, so that there are rows below a picture whose
 * height is not a multiple of that. */
enum { ROWS_ALIGN = 16 };

static uint32_t aligned(uint32_t value, uint32_t to)
{
    return (value + to - 1) / to * to;
}

void softva_lay_out(struct softva_layout *layout, const struct softva_format *format,
                    uint32_t width, uint32_t height, uint32_t pitch_align, bool separate)
{
    bool tiled = layout->modifier == SOFTVA_MODIFIER_Y_TILED;
    size_t end = 0;

    layout->object_count = separate ? format->plane_count : 1;
    if (tiled && pitch_align < SOFTVA_TILE_WIDTH)
        pitch_align = SOFTVA_TILE_WIDTH;
    for (uint32_t i = 0; i < format->plane_count; i++) {
        const struct softva_plane_format *plane = &format->planes[i];
        uint32_t rows = softva_plane_rows(plane, aligned(height, ROWS_ALIGN));

        if (tiled)
            rows = aligned(rows, SOFTVA_TILE_HEIGHT);
        if (separate)
            end = 0;
        layout->planes[i].object = separate ? i : 0;
        layout->planes[i].offset = (uint32_t)end;
        layout->planes[i].pitch = aligned(softva_row_bytes(plane, width), pitch_align);
        end += (size_t)layout->planes[i].pitch * rows;
        layout->object_sizes[layout->planes[i].object] = end;
    }
}

bool softva_layout_fits(const struct softva_layout *layout, const struct softva_format *format,
                        uint32_t width, uint32_t height)
{
    bool tiled = layout->modifier == SOFTVA_MODIFIER_Y_TILED;

    for (uint32_t i = 0; i < format->plane_count; i++) {
        const struct softva_plane *plane = &layout->planes[i];
        uint32_t row = softva_row_bytes(&format->planes[i], width);
        uint32_t rows = softva_plane_rows(&format->planes[i], height);
        uint64_t size;

        if (plane->object >= layout->object_count || plane->pitch < row)
            return false;
        if (tiled && (plane->pitch % SOFTVA_TILE_WIDTH || plane->offset % SOFTVA_TILE_BYTES))
            return false;
        if (tiled)
            size = (uint64_t)plane->pitch * aligned(rows, SOFTVA_TILE_HEIGHT);
        else
            size = (uint64_t)plane->pitch * (rows - 1) + row;
        if (plane->offset + size > layout->object_sizes[plane->object])
            return false;
    }
    return true;
}
