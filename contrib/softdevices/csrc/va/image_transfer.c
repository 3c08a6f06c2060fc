/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between surfaces and images. */
#include <linux/dma-buf.h>

#include "buffers.h"
#include "images.h"
#include "surfaces.h"

/* The two sides of a copy. */
struct sides {
    struct softva_surface *surface;
    struct softva_image *image;
    struct softva_buffer *buffer;
};

static VAStatus find_sides(const struct softva_display *display, VASurfaceID surface,
                           VAImageID image, struct sides *sides)
{
    sides->surface = softva_table_find(&display->table, surface, SOFTVA_SURFACE);
    if (!sides->surface)
        return VA_STATUS_ERROR_INVALID_SURFACE;
    sides->image = softva_table_find(&display->table, image, SOFTVA_IMAGE);
    if (!sides->image)
        return VA_STATUS_ERROR_INVALID_IMAGE;
    sides->buffer =
        softva_table_find(&display->table, sides->image->description.buf, SOFTVA_BUFFER);
    if (!sides->buffer)
        return VA_STATUS_ERROR_INVALID_BUFFER;
    if (!softva_same_planes(sides->surface->format, sides->image->format))
        return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
    return VA_STATUS_SUCCESS;
}

/* Makes an area of a program's numbers; false if they are not an area of a picture of this size. */
static bool make_area(int x, int y, unsigned int width, unsigned int height, uint32_t of_width,
                      uint32_t of_height, struct softva_area *area)
{
    *area = (struct softva_area){(uint32_t)x, (uint32_t)y, width, height};
    return x >= 0 && y >= 0 && softva_area_is_within(area, of_width, of_height);
}

/* The pixels of an image whose buffer lies at `bytes`. */
static struct softva_picture image_picture(const struct softva_image *image, uint8_t *bytes)
{
    struct softva_picture picture = {
        .format = image->format,
        .width = image->description.width,
        .height = image->description.height,
    };

    for (uint32_t i = 0; i < image->format->plane_count; i++) {
        picture.planes[i] = bytes + image->description.offsets[i];
        picture.pitches[i] = image->description.pitches[i];
    }
    return picture;
}

static VAStatus get(const struct softva_display *display, VASurfaceID surface_id, int x, int y,
                    unsigned int width, unsigned int height, VAImageID image_id)
{
    struct sides sides;
    struct softva_picture surface, image;
    struct softva_area from, to = {0, 0, width, height};
    VAStatus status = find_sides(display, surface_id, image_id, &sides);

    if (status != VA_STATUS_SUCCESS)
        return status;
    if (!make_area(x, y, width, height, sides.surface->width, sides.surface->height, &from) ||
        !softva_area_is_within(&to, sides.image->description.width,
                               sides.image->description.height))
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    surface = softva_surface_picture(sides.surface);
    softva_surface_begin(sides.surface, DMA_BUF_SYNC_READ);
    image = image_picture(sides.image, softva_buffer_begin(sides.buffer, DMA_BUF_SYNC_WRITE));
    softva_copy(&image, &to, &surface, &from);
    softva_buffer_end(sides.buffer, DMA_BUF_SYNC_WRITE);
    softva_surface_end(sides.surface, DMA_BUF_SYNC_READ);
    return VA_STATUS_SUCCESS;
}

VAStatus softva_get_image(VADriverContextP context, VASurfaceID surface, int x, int y,
                          unsigned int width, unsigned int height, VAImageID image)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaGetImage");

    if (status == VA_STATUS_SUCCESS)
        status = get(call.display, surface, x, y, width, height, image);
    return softva_end(&call, status);
}

static void put(const struct sides *sides, const struct softva_area *from,
                const struct softva_area *to)
{
    struct softva_picture surface = softva_surface_picture(sides->surface), image;

    image = image_picture(sides->image, softva_buffer_begin(sides->buffer, DMA_BUF_SYNC_READ));
    softva_surface_begin(sides->surface, DMA_BUF_SYNC_WRITE);
    softva_copy(&surface, to, &image, from);
    softva_surface_end(sides->surface, DMA_BUF_SYNC_WRITE);
    softva_buffer_end(sides->buffer, DMA_BUF_SYNC_READ);
}

VAStatus softva_put_image(VADriverContextP context, VASurfaceID surface, VAImageID image,
                          int source_x, int source_y, unsigned int source_width,
                          unsigned int source_height, int target_x, int target_y,
                          unsigned int target_width, unsigned int target_height)
{
    struct softva_area from, to;
    struct softva_call call;
    struct sides sides;
    VAStatus status = softva_begin(&call, context, "vaPutImage");

    if (status == VA_STATUS_SUCCESS)
        status = find_sides(call.display, surface, image, &sides);
    if (status == VA_STATUS_SUCCESS &&
        (!make_area(source_x, source_y, source_width, source_height,
                    sides.image->description.width, sides.image->description.height, &from) ||
         !make_area(target_x, target_y, target_width, target_height, sides.surface->width,
                    sides.surface->height, &to)))
        status = VA_STATUS_ERROR_INVALID_PARAMETER;
    if (status == VA_STATUS_SUCCESS)
        put(&sides, &from, &to);
    return softva_end(&call, status);
}
