/* SPDX-License-Identifier: Apache-2.0 */
/* The system's libavcodec, which decodes JPEG for the driver. It is loaded when it is first asked for: the
 * driver works without it, and offers no decoding then. */
#ifndef SOFTVA_JPEG_LIBRARY_H
#define SOFTVA_JPEG_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A picture of 4:2:0, of which each chroma plane has half the rows and columns, rounded up. It belongs to
 * the library until softva_jpeg_free. */
struct softva_jpeg_picture {
    uint32_t width, height;
    const uint8_t *planes[3];
    size_t pitches[3];
    void *frame;
};

/* Whether there is a library that this driver knows. */
bool softva_jpeg_available(void);

/* Decodes the `size` bytes of a whole JPEG file; false unless they are an intact picture of 4:2:0. */
bool softva_jpeg_decode(const uint8_t *file, size_t size, struct softva_jpeg_picture *picture);

void softva_jpeg_free(struct softva_jpeg_picture *picture);

#endif
