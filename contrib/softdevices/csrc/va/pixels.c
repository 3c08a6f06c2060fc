/* SPDX-License-Identifier: Apache-2.0 */
#include "pixels.h"

#include <string.h>

enum { TILE_COLUMN = 16 };

bool softva_area_is_within(const struct softva_area *area, uint32_t width, uint32_t height)
{
    return area->width && area->height && area->x <= width && area->width <= width - area->x &&
           area->y <= height && area->height <= height - area->y;
}

/* The plane of `format` that holds the same as `plane`; the count of planes if there is none. */
static uint32_t plane_like(const struct softva_format *format,
                           const struct softva_plane_format *plane)
{
    uint32_t i = 0;

    while (i < format->plane_count &&
           (format->planes[i].holds != plane->holds || format->planes[i].bytes != plane->bytes ||
            format->planes[i].log2_width != plane->log2_width ||
            format->planes[i].log2_height != plane->log2_height))
        i++;
    return i;
}

bool softva_same_planes(const struct softva_format *one, const struct softva_format *other)
{
    if (one == other)
        return true;
    if (one->plane_count != other->plane_count)
        return false;
    for (uint32_t i = 0; i < one->plane_count; i++) {
        /* What packed pixels and interleaved chroma are made of is the format's own matter. */
        if (one->planes[i].holds == 'p' || one->planes[i].holds == 'c' ||
            plane_like(other, &one->planes[i]) == other->plane_count)
            return false;
    }
    return true;
}

/* One plane, in bytes and rows. */
struct plane {
    uint8_t *bytes;
    uint32_t pitch;
    bool tiled;
};

static uint8_t *at(const struct plane *plane, uint32_t x, uint32_t y)
{
    size_t tile, within;

    if (!plane->tiled)
        return plane->bytes + (size_t)y * plane->pitch + x;
    tile = (size_t)(y / SOFTVA_TILE_HEIGHT) * (plane->pitch / SOFTVA_TILE_WIDTH) +
           x / SOFTVA_TILE_WIDTH;
    within = (x % SOFTVA_TILE_WIDTH / TILE_COLUMN) * (TILE_COLUMN * SOFTVA_TILE_HEIGHT) +
             (y % SOFTVA_TILE_HEIGHT) * TILE_COLUMN + x % TILE_COLUMN;
    return plane->bytes + tile * SOFTVA_TILE_BYTES + within;
}

uint8_t *softva_pixel_at(const struct softva_picture *picture, uint32_t plane, uint32_t x, uint32_t y)
{
    const struct plane one = {picture->planes[plane], picture->pitches[plane], picture->tiled};

    return at(&one, x, y);
}

/* How many of `wanted` bytes lie one after another from `x` on. */
static uint32_t run_from(const struct plane *plane, uint32_t x, uint32_t wanted)
{
    uint32_t left = TILE_COLUMN - x % TILE_COLUMN;

    return plane->tiled && left < wanted ? left : wanted;
}

static void copy_row(const struct plane *target, uint32_t target_x, uint32_t target_y,
                     const struct plane *source, uint32_t source_x, uint32_t source_y,
                     uint32_t bytes)
{
    for (uint32_t done = 0; done < bytes;) {
        uint32_t run = run_from(target, target_x + done, bytes - done);

        run = run_from(source, source_x + done, run);
        /* Both may be the same picture. */
        memmove(at(target, target_x + done, target_y), at(source, source_x + done, source_y), run);
        done += run;
    }
}

/* A cell never crosses a column of a tile: its size divides theirs. */
static void scale_row(const struct plane *target, uint32_t target_x, uint32_t target_y,
                      uint32_t target_cells, const struct plane *source, uint32_t source_x,
                      uint32_t source_y, uint32_t source_cells, uint32_t bytes)
{
    for (uint32_t i = 0; i < target_cells; i++) {
        uint32_t from = (uint32_t)((uint64_t)i * source_cells / target_cells);

        memmove(at(target, target_x + i * bytes, target_y),
                at(source, source_x + from * bytes, source_y), bytes);
    }
}

/* The cells of a plane that hold an area of pixels. */
static struct softva_area cells_of(const struct softva_plane_format *plane,
                                   const struct softva_area *area)
{
    struct softva_area cells = {.x = area->x >> plane->log2_width,
                                .y = area->y >> plane->log2_height};

    cells.width = softva_plane_cells(plane, area->x + area->width) - cells.x;
    cells.height = softva_plane_rows(plane, area->y + area->height) - cells.y;
    return cells;
}

void softva_copy(const struct softva_picture *target, const struct softva_area *to,
                 const struct softva_picture *source, const struct softva_area *from)
{
    /* Cells of areas that begin between cells may differ by one where the areas do not. */
    bool same_size = to->width == from->width && to->height == from->height;

    for (uint32_t i = 0; i < target->format->plane_count; i++) {
        const struct softva_plane_format *format = &target->format->planes[i];
        uint32_t j = target->format == source->format ? i : plane_like(source->format, format);
        struct plane into = {target->planes[i], target->pitches[i], target->tiled};
        struct plane out_of = {source->planes[j], source->pitches[j], source->tiled};
        struct softva_area t = cells_of(format, to), s = cells_of(format, from);

        if (same_size) {
            t.width = s.width = t.width < s.width ? t.width : s.width;
            t.height = s.height = t.height < s.height ? t.height : s.height;
        }
        for (uint32_t row = 0; row < t.height; row++) {
            uint32_t source_row = s.y + (uint32_t)((uint64_t)row * s.height / t.height);

            if (t.width == s.width)
                copy_row(&into, t.x * format->bytes, t.y + row, &out_of, s.x * format->bytes,
                         source_row, t.width * format->bytes);
            else
                scale_row(&into, t.x * format->bytes, t.y + row, t.width, &out_of,
                          s.x * format->bytes, source_row, s.width, format->bytes);
        }
    }
}
