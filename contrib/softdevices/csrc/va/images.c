/* SPDX-License-Identifier: Apache-2.0 */
#include "images.h"

#include <stdlib.h>

#include "buffers.h"
#include "drm_codes.h"
#include "surfaces.h"

VAStatus softva_query_image_formats(VADriverContextP context, VAImageFormat *formats, int *count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaQueryImageFormats");

    if (status == VA_STATUS_SUCCESS) {
        for (size_t i = 0; i < softva_format_count; i++)
            formats[i] = softva_image_format(&softva_formats[i]);
        *count = (int)softva_format_count;
    }
    return softva_end(&call, status);
}

/* Describes an image of this layout, without its ids. */
static void describe(struct softva_image *image, const struct softva_format *format,
                     uint32_t width, uint32_t height, const struct softva_layout *layout)
{
    VAImage *description = &image->description;

    image->format = format;
    description->format = softva_image_format(format);
    description->width = (uint16_t)width;
    description->height = (uint16_t)height;
    description->data_size = (uint32_t)layout->object_sizes[0];
    description->num_planes = format->plane_count;
    for (uint32_t i = 0; i < format->plane_count; i++) {
        description->pitches[i] = layout->planes[i].pitch;
        description->offsets[i] = layout->planes[i].offset;
    }
}

/* Adds an image whose buffer, `buffer`, was made with `status`. */
static VAStatus add(struct softva_display *display, struct softva_image *image, VAStatus status,
                    VABufferID buffer, VAImage *result)
{
    if (status != VA_STATUS_SUCCESS) {
        free(image);
        return status;
    }
    status = softva_table_add(&display->table, &image->object, SOFTVA_IMAGE);
    if (status != VA_STATUS_SUCCESS) {
        softva_buffer_destroy(display, buffer);
        free(image);
        return status;
    }
    image->description.image_id = image->object.id;
    image->description.buf = buffer;
    *result = image->description;
    return VA_STATUS_SUCCESS;
}

static VAStatus create(struct softva_display *display, const VAImageFormat *wanted, int width,
                       int height, VAImage *result)
{
    struct softva_layout layout = {.modifier = SOFTVA_MODIFIER_LINEAR};
    const struct softva_format *format = softva_format_of(wanted->fourcc);
    struct softva_image *image;
    VABufferID buffer = VA_INVALID_ID;
    VAStatus status;

    if (!format)
        return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
    if (width <= 0 || height <= 0 || width > SOFTVA_MAX_SIZE || height > SOFTVA_MAX_SIZE)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    image = calloc(1, sizeof *image);
    if (!image)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    softva_lay_out(&layout, format, (uint32_t)width, (uint32_t)height,
                   display->options.pitch_align, false);
    describe(image, format, (uint32_t)width, (uint32_t)height, &layout);
    status = softva_buffer_create(display, VAImageBufferType, image->description.data_size, 1,
                                  NULL, &buffer);
    return add(display, image, status, buffer, result);
}

static VAStatus derive(struct softva_display *display, VASurfaceID id, VAImage *result)
{
    const struct softva_surface *surface =
        softva_table_find(&display->table, id, SOFTVA_SURFACE);
    struct softva_image *image;
    VABufferID buffer = VA_INVALID_ID;
    VAStatus status;

    if (!surface)
        return VA_STATUS_ERROR_INVALID_SURFACE;
    /* An image is linear, and has one buffer. */
    if (surface->layout.modifier != SOFTVA_MODIFIER_LINEAR || surface->layout.object_count != 1)
        return VA_STATUS_ERROR_OPERATION_FAILED;
    image = calloc(1, sizeof *image);
    if (!image)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    describe(image, surface->format, surface->width, surface->height, &surface->layout);
    status = softva_buffer_create_over(display, surface->objects[0], id, &buffer);
    return add(display, image, status, buffer, result);
}

VAStatus softva_create_image(VADriverContextP context, VAImageFormat *format, int width,
                             int height, VAImage *image)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaCreateImage");

    if (status == VA_STATUS_SUCCESS)
        status = create(call.display, format, width, height, image);
    return softva_end(&call, status);
}

VAStatus softva_derive_image(VADriverContextP context, VASurfaceID surface, VAImage *image)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaDeriveImage");

    if (status == VA_STATUS_SUCCESS)
        status = derive(call.display, surface, image);
    return softva_end(&call, status);
}

VAStatus softva_destroy_image(VADriverContextP context, VAImageID id)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaDestroyImage");
    struct softva_image *image = NULL;

    if (status == VA_STATUS_SUCCESS) {
        image = softva_table_find(&call.display->table, id, SOFTVA_IMAGE);
        status = image ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_IMAGE;
    }
    if (image) {
        /* The program may have destroyed the buffer by itself. */
        softva_buffer_destroy(call.display, image->description.buf);
        softva_table_remove(&call.display->table, &image->object);
        free(image);
    }
    return softva_end(&call, status);
}
