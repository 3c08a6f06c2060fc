/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTVA_IMAGES_H
#define SOFTVA_IMAGES_H

#include "display.h"
#include "formats.h"

struct softva_image {
    struct softva_object object;
    const struct softva_format *format;
    VAImage description;
};

/* Functions of the vtable. */
VAStatus softva_query_image_formats(VADriverContextP context, VAImageFormat *formats, int *count);
VAStatus softva_create_image(VADriverContextP context, VAImageFormat *format, int width,
                             int height, VAImage *image);
VAStatus softva_derive_image(VADriverContextP context, VASurfaceID surface, VAImage *image);
VAStatus softva_destroy_image(VADriverContextP context, VAImageID image);

/* image_transfer.c */
VAStatus softva_get_image(VADriverContextP context, VASurfaceID surface, int x, int y,
                          unsigned int width, unsigned int height, VAImageID image);
VAStatus softva_put_image(VADriverContextP context, VASurfaceID surface, VAImageID image,
                          int source_x, int source_y, unsigned int source_width,
                          unsigned int source_height, int target_x, int target_y,
                          unsigned int target_width, unsigned int target_height);

#endif
