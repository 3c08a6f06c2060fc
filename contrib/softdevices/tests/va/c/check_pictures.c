/* SPDX-License-Identifier: Apache-2.0 */
/* Every format through surfaces of every layout and back. */
#include <stdlib.h>
#include <string.h>

#include "../../../csrc/va/formats.h"
#include "check.h"

enum { WIDTH = 131, HEIGHT = 45 };

/* Fills an image with numbers that distinguish bytes, seeded by `seed`. */
static void fill(struct display *display, const VAImage *image, unsigned int seed)
{
    void *bytes;

    CHECK(display->calls.vaMapBuffer(&display->context, image->buf, &bytes) == VA_STATUS_SUCCESS);
    for (uint32_t i = 0; i < image->data_size; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)(i * 31 + i / 251 + seed);
    CHECK(display->calls.vaUnmapBuffer(&display->context, image->buf) == VA_STATUS_SUCCESS);
}

/* Compares the pixels of two images of one size and format, not what lies between them. */
static void compare(struct display *display, const VAImage *one, const VAImage *other)
{
    const struct softva_format *format = softva_format_of(one->format.fourcc);
    void *a, *b;

    CHECK(display->calls.vaMapBuffer(&display->context, one->buf, &a) == VA_STATUS_SUCCESS);
    CHECK(display->calls.vaMapBuffer(&display->context, other->buf, &b) == VA_STATUS_SUCCESS);
    for (uint32_t i = 0; i < format->plane_count; i++)
        for (uint32_t y = 0; y < softva_plane_rows(&format->planes[i], one->height); y++)
            CHECK(memcmp((uint8_t *)a + one->offsets[i] + (size_t)y * one->pitches[i],
                         (uint8_t *)b + other->offsets[i] + (size_t)y * other->pitches[i],
                         softva_row_bytes(&format->planes[i], one->width)) == 0);
    CHECK(display->calls.vaUnmapBuffer(&display->context, other->buf) == VA_STATUS_SUCCESS);
    CHECK(display->calls.vaUnmapBuffer(&display->context, one->buf) == VA_STATUS_SUCCESS);
}

static void through_a_surface(struct display *display, uint32_t fourcc)
{
    VASurfaceID surface = make_surface(display, fourcc, WIDTH, HEIGHT);
    VAImage in = make_image(display, fourcc, WIDTH, HEIGHT, 0);
    VAImage out = make_image(display, fourcc, WIDTH, HEIGHT, 0xee), derived;
    VAStatus status;

    fill(display, &in, fourcc);
    CHECK(display->calls.vaPutImage(&display->context, surface, in.image_id, 0, 0, WIDTH, HEIGHT,
                                    0, 0, WIDTH, HEIGHT) == VA_STATUS_SUCCESS);
    CHECK(display->calls.vaGetImage(&display->context, surface, 0, 0, WIDTH, HEIGHT,
                                    out.image_id) == VA_STATUS_SUCCESS);
    compare(display, &in, &out);
    status = display->calls.vaDeriveImage(&display->context, surface, &derived);
    CHECK(status == VA_STATUS_SUCCESS || status == VA_STATUS_ERROR_OPERATION_FAILED);
    if (status == VA_STATUS_SUCCESS) {
        compare(display, &in, &derived);
        CHECK(display->calls.vaDestroyImage(&display->context, derived.image_id) == 0);
    }
    CHECK(display->calls.vaDestroyImage(&display->context, in.image_id) == VA_STATUS_SUCCESS);
    CHECK(display->calls.vaDestroyImage(&display->context, out.image_id) == VA_STATUS_SUCCESS);
    CHECK(display->calls.vaDestroySurfaces(&display->context, &surface, 1) == VA_STATUS_SUCCESS);
}

static void check_layout(const char *variable, const char *value)
{
    struct display display;

    open_display(&display, variable, value);
    for (size_t i = 0; i < softva_format_count; i++)
        through_a_surface(&display, softva_formats[i].fourcc);
    CHECK(count_live("softva ") == 0);
    close_display(&display);
}

static uint8_t pixel(struct display *display, const VAImage *image, uint32_t x, uint32_t y)
{
    void *bytes;
    uint8_t value;

    CHECK(display->calls.vaMapBuffer(&display->context, image->buf, &bytes) == VA_STATUS_SUCCESS);
    value = ((uint8_t *)bytes)[image->offsets[0] + y * image->pitches[0] + x];
    CHECK(display->calls.vaUnmapBuffer(&display->context, image->buf) == VA_STATUS_SUCCESS);
    return value;
}

/* Parts of pictures, scaled ones, and those that are not parts. */
static void check_areas(void)
{
    struct display display;
    VASurfaceID surface;
    VAImage small, whole;
    const struct VADriverVTable *calls = &display.calls;

    open_display(&display, "SOFTVA_TILING", "y");
    surface = make_surface(&display, VA_FOURCC_NV12, 64, 48);
    small = make_image(&display, VA_FOURCC_NV12, 8, 6, 200);
    whole = make_image(&display, VA_FOURCC_NV12, 64, 48, 1);
    CHECK(calls->vaPutImage(&display.context, surface, small.image_id, 0, 0, 8, 6, 50, 40, 8, 6) ==
          VA_STATUS_SUCCESS);
    CHECK(calls->vaPutImage(&display.context, surface, small.image_id, 0, 0, 4, 3, 0, 0, 13, 7) ==
          VA_STATUS_SUCCESS);
    CHECK(calls->vaGetImage(&display.context, surface, 0, 0, 64, 48, whole.image_id) ==
          VA_STATUS_SUCCESS);
    CHECK(pixel(&display, &whole, 49, 40) == 0 && pixel(&display, &whole, 50, 40) == 200);
    CHECK(pixel(&display, &whole, 57, 45) == 200 && pixel(&display, &whole, 58, 45) == 0);
    CHECK(pixel(&display, &whole, 12, 6) == 200 && pixel(&display, &whole, 13, 6) == 0);
    CHECK(pixel(&display, &whole, 12, 7) == 0);
    CHECK(calls->vaGetImage(&display.context, surface, 57, 0, 8, 6, small.image_id) ==
          VA_STATUS_ERROR_INVALID_PARAMETER);
    CHECK(calls->vaGetImage(&display.context, surface, -1, 0, 8, 6, small.image_id) ==
          VA_STATUS_ERROR_INVALID_PARAMETER);
    CHECK(calls->vaGetImage(&display.context, surface, 0, 0, 0, 6, small.image_id) ==
          VA_STATUS_ERROR_INVALID_PARAMETER);
    CHECK(calls->vaGetImage(&display.context, surface, 0, 0, UINT32_MAX, 6, small.image_id) ==
          VA_STATUS_ERROR_INVALID_PARAMETER);
    CHECK(calls->vaGetImage(&display.context, surface, 0, 0, 9, 6, small.image_id) ==
          VA_STATUS_ERROR_INVALID_PARAMETER);
    CHECK(calls->vaPutImage(&display.context, surface, small.image_id, 1, 0, 8, 6, 0, 0, 8, 6) ==
          VA_STATUS_ERROR_INVALID_PARAMETER);
    close_display(&display);
}

/* Formats of the same planes are copied into each other, others are not. */
static void check_other_formats(void)
{
    struct display display;
    VASurfaceID surface;
    VAImage swapped, other;
    void *bytes;

    open_display(&display, NULL, NULL);
    surface = make_surface(&display, VA_FOURCC_I420, 32, 32);
    swapped = make_image(&display, VA_FOURCC_YV12, 32, 32, 1);
    other = make_image(&display, VA_FOURCC_NV12, 32, 32, 1);
    CHECK(display.calls.vaMapBuffer(&display.context, swapped.buf, &bytes) == VA_STATUS_SUCCESS);
    ((uint8_t *)bytes)[swapped.offsets[1]] = 77; /* V */
    CHECK(display.calls.vaUnmapBuffer(&display.context, swapped.buf) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaPutImage(&display.context, surface, swapped.image_id, 0, 0, 32, 32, 0, 0,
                                   32, 32) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaDestroyImage(&display.context, swapped.image_id) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaDeriveImage(&display.context, surface, &swapped) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaMapBuffer(&display.context, swapped.buf, &bytes) == VA_STATUS_SUCCESS);
    CHECK(((uint8_t *)bytes)[swapped.offsets[1]] == 1);
    CHECK(((uint8_t *)bytes)[swapped.offsets[2]] == 77);
    CHECK(display.calls.vaGetImage(&display.context, surface, 0, 0, 32, 32, other.image_id) ==
          VA_STATUS_ERROR_INVALID_IMAGE_FORMAT);
    close_display(&display);
}

void check_pictures(void)
{
    check_layout(NULL, NULL);
    check_layout("SOFTVA_TILING", "y");
    check_layout("SOFTVA_OBJECTS", "separate");
    check_layout("SOFTVA_PITCH_ALIGN", "1");
    check_layout("SOFTVA_PITCH_ALIGN", "1024");
    check_areas();
    check_other_formats();
}
