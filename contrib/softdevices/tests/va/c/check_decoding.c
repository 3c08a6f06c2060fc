/* SPDX-License-Identifier: Apache-2.0 */
/* Baseline JPEG: a picture of one block whose bits are written out here, and what is not a picture. Where
 * no library decodes JPEG, that the driver offers none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <va/va_dec_jpeg.h>

#include "../../../csrc/va/jpeg_library.h"
#include "check.h"

enum { SIZE = 16, LUMA = 143, CHROMA = 128, MAX_BUFFERS = 6 };

/* The buffers of a picture, to be changed before they are handed over. */
struct buffers {
    VAPictureParameterBufferJPEGBaseline picture;
    VAHuffmanTableBufferJPEGBaseline huffman;
    VAIQMatrixBufferJPEGBaseline tables;
    VASliceParameterBufferJPEGBaseline slice;
    uint8_t data[64];
};

/* Codes of two bits for differences of 0 and of 4 bits, of one bit for the end of a block. The first
 * luma block differs by 15 from grey, in units of 8 of which a pixel is an eighth; the rest does not. */
static struct buffers good(void)
{
    struct buffers made = {.data = {0x7c, 0x00, 0x03}};

    made.picture.picture_width = made.picture.picture_height = SIZE;
    made.picture.num_components = made.slice.num_components = 3;
    for (int i = 0; i < 3; i++) {
        made.picture.components[i].component_id = made.slice.components[i].component_selector =
            (uint8_t)(i + 1);
        made.picture.components[i].h_sampling_factor = i ? 1 : 2;
        made.picture.components[i].v_sampling_factor = i ? 1 : 2;
    }
    made.huffman.load_huffman_table[0] = 1;
    made.huffman.huffman_table[0].num_dc_codes[1] = 2;
    made.huffman.huffman_table[0].dc_values[1] = 4;
    made.huffman.huffman_table[0].num_ac_codes[0] = 1;
    made.tables.load_quantiser_table[0] = 1;
    memset(made.tables.quantiser_table[0], 8, 64);
    made.slice.slice_data_size = 3;
    made.slice.num_mcus = 1;
    return made;
}

static void add(struct display *display, VAContextID context, VABufferType type, const void *data,
                size_t size, VABufferID *buffer)
{
    void *copy = malloc(size);

    memcpy(copy, data, size);
    CHECK(display->calls.vaCreateBuffer(&display->context, context, type, (unsigned int)size, 1,
                                        copy, buffer) == VA_STATUS_SUCCESS);
    free(copy);
}

/* Decodes; the first error of vaRenderPicture or vaEndPicture. */
static VAStatus decode(struct display *display, VAContextID context, VASurfaceID target,
                       const struct buffers *from)
{
    const struct VADriverVTable *calls = &display->calls;
    VABufferID buffers[5];
    VAStatus status, ended;

    add(display, context, VAPictureParameterBufferType, &from->picture, sizeof from->picture,
        &buffers[0]);
    add(display, context, VAHuffmanTableBufferType, &from->huffman, sizeof from->huffman,
        &buffers[1]);
    add(display, context, VAIQMatrixBufferType, &from->tables, sizeof from->tables, &buffers[2]);
    add(display, context, VASliceParameterBufferType, &from->slice, sizeof from->slice,
        &buffers[3]);
    add(display, context, VASliceDataBufferType, from->data, sizeof from->data, &buffers[4]);
    CHECK(calls->vaBeginPicture(&display->context, context, target) == VA_STATUS_SUCCESS);
    status = calls->vaRenderPicture(&display->context, context, buffers, 3);
    if (status == VA_STATUS_SUCCESS)
        status = calls->vaRenderPicture(&display->context, context, buffers + 3, 2);
    for (int i = 0; i < 5; i++)
        CHECK(calls->vaDestroyBuffer(&display->context, buffers[i]) == VA_STATUS_SUCCESS);
    ended = calls->vaEndPicture(&display->context, context);
    return status == VA_STATUS_SUCCESS ? ended : status;
}

static void check_pixels(struct display *display, VASurfaceID surface)
{
    const struct VADriverVTable *calls = &display->calls;
    VAImage image;
    uint8_t *bytes;
    void *mapped;

    CHECK(calls->vaDeriveImage(&display->context, surface, &image) == VA_STATUS_SUCCESS);
    CHECK(calls->vaMapBuffer(&display->context, image.buf, &mapped) == VA_STATUS_SUCCESS);
    bytes = mapped;
    for (uint32_t y = 0; y < SIZE; y++) {
        for (uint32_t x = 0; x < SIZE; x++) {
            /* Each block goes on from the one before. */
            CHECK(bytes[image.offsets[0] + y * image.pitches[0] + x] == LUMA);
            CHECK(bytes[image.offsets[1] + y / 2 * image.pitches[1] + x] == CHROMA);
        }
    }
    CHECK(calls->vaUnmapBuffer(&display->context, image.buf) == VA_STATUS_SUCCESS);
    CHECK(calls->vaDestroyImage(&display->context, image.image_id) == VA_STATUS_SUCCESS);
}

static void check_refusals(struct display *display, VAContextID context, VASurfaceID surface)
{
    VASurfaceID other = make_surface(display, VA_FOURCC_P010, SIZE, SIZE);
    struct buffers buffers = good();

    CHECK(decode(display, context, other, &buffers) == VA_STATUS_ERROR_INVALID_SURFACE);
    buffers.picture.picture_width = 2 * SIZE + 1;
    CHECK(decode(display, context, surface, &buffers) == VA_STATUS_ERROR_INVALID_SURFACE);
    buffers.picture.picture_width = 0;
    CHECK(decode(display, context, surface, &buffers) == VA_STATUS_ERROR_INVALID_SURFACE);
    buffers.picture.picture_width = 2 * SIZE; /* of which half has no bits */
    CHECK(decode(display, context, surface, &buffers) == VA_STATUS_ERROR_DECODING_ERROR);
    buffers = good();
    buffers.picture.components[0].v_sampling_factor = 1;
    CHECK(decode(display, context, surface, &buffers) == VA_STATUS_ERROR_UNIMPLEMENTED);
    buffers = good();
    buffers.slice.components[2].ac_table_selector = 2;
    CHECK(decode(display, context, surface, &buffers) == VA_STATUS_ERROR_INVALID_PARAMETER);
    buffers = good();
    buffers.picture.components[1].quantiser_table_selector = 3; /* it was not given */
    CHECK(decode(display, context, surface, &buffers) == VA_STATUS_ERROR_INVALID_PARAMETER);
    buffers = good();
    memset(buffers.huffman.huffman_table[0].num_ac_codes, 255, 16);
    CHECK(decode(display, context, surface, &buffers) == VA_STATUS_ERROR_DECODING_ERROR);
    buffers = good();
    memset(buffers.data, 0xff, sizeof buffers.data);
    CHECK(decode(display, context, surface, &buffers) == VA_STATUS_ERROR_DECODING_ERROR);
    buffers = good();
    buffers.slice.slice_data_size = sizeof buffers.data + 1;
    CHECK(decode(display, context, surface, &buffers) == VA_STATUS_ERROR_INVALID_PARAMETER);
    buffers.slice.slice_data_size = 4;
    buffers.slice.slice_data_offset = UINT32_MAX - 1;
    CHECK(decode(display, context, surface, &buffers) == VA_STATUS_ERROR_INVALID_PARAMETER);
    buffers = good();
    CHECK(decode(display, context, surface, &buffers) == VA_STATUS_SUCCESS);
}

/* Buffers that are too small, of another kind of context, missing, or given twice. */
static void check_wrong_buffers(struct display *display, VAContextID context, VASurfaceID surface)
{
    const struct VADriverVTable *calls = &display->calls;
    struct buffers buffers = good();
    VABufferID ids[MAX_BUFFERS];

    CHECK(calls->vaCreateBuffer(&display->context, context, VAProcPipelineParameterBufferType,
                                sizeof(VAProcPipelineParameterBuffer), 1, NULL, &ids[0]) ==
          VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE);
    add(display, context, VAPictureParameterBufferType, &buffers.picture, 8, &ids[0]);
    add(display, context, VASliceDataBufferType, buffers.data, 3, &ids[1]);
    add(display, context, VASliceParameterBufferType, &buffers.slice, sizeof buffers.slice,
        &ids[2]);
    CHECK(calls->vaBeginPicture(&display->context, context, surface) == VA_STATUS_SUCCESS);
    CHECK(calls->vaRenderPicture(&display->context, context, &ids[0], 1) ==
          VA_STATUS_ERROR_INVALID_BUFFER);
    CHECK(calls->vaRenderPicture(&display->context, context, &ids[1], 1) ==
          VA_STATUS_ERROR_INVALID_BUFFER);
    CHECK(calls->vaRenderPicture(&display->context, context, &ids[2], 1) == VA_STATUS_SUCCESS);
    CHECK(calls->vaRenderPicture(&display->context, context, &ids[1], 1) == VA_STATUS_SUCCESS);
    CHECK(calls->vaRenderPicture(&display->context, context, &ids[1], 1) ==
          VA_STATUS_ERROR_UNIMPLEMENTED);
    CHECK(calls->vaEndPicture(&display->context, context) == VA_STATUS_ERROR_INVALID_BUFFER);
    CHECK(calls->vaEndPicture(&display->context, context) == VA_STATUS_ERROR_INVALID_CONTEXT);
}

static void check_offered(struct display *display, VAConfigID config)
{
    VASurfaceAttrib list[64];
    VAConfigAttrib attribute = {.type = VAConfigAttribRTFormat};
    VAEntrypoint entrypoint;
    VAProfile profile;
    unsigned int count = 64, formats = 0;
    int attributes;

    CHECK(display->calls.vaQueryConfigAttributes(&display->context, config, &profile, &entrypoint,
                                                 &attribute, &attributes) == VA_STATUS_SUCCESS);
    CHECK(profile == VAProfileJPEGBaseline && entrypoint == VAEntrypointVLD);
    CHECK(attribute.value == VA_RT_FORMAT_YUV420);
    CHECK(display->calls.vaQuerySurfaceAttributes(&display->context, config, list, &count) == 0);
    for (unsigned int i = 0; i < count; i++) {
        if (list[i].type != VASurfaceAttribPixelFormat)
            continue;
        CHECK(list[i].value.value.i == (int32_t)VA_FOURCC_NV12);
        formats++;
    }
    CHECK(formats == 1);
}

static void check_without_library(struct display *display)
{
    VAConfigID config;

    CHECK(display->calls.vaCreateConfig(&display->context, VAProfileJPEGBaseline, VAEntrypointVLD,
                                        NULL, 0, &config) == VA_STATUS_ERROR_UNSUPPORTED_PROFILE);
    close_display(display);
    fputs("no library decodes JPEG: apt install libavcodec59\n", stderr);
}

void check_decoding(void)
{
    struct buffers buffers = good();
    VASurfaceID surface, small;
    struct display display;
    VAContextID context;
    VAConfigID config;

    open_display(&display, NULL, NULL);
    if (!softva_jpeg_available()) {
        check_without_library(&display);
        return;
    }
    CHECK(display.calls.vaCreateConfig(&display.context, VAProfileJPEGBaseline,
                                       VAEntrypointVideoProc, NULL, 0, &config) ==
          VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT);
    CHECK(display.calls.vaCreateConfig(&display.context, VAProfileJPEGBaseline, VAEntrypointVLD,
                                       NULL, 0, &config) == VA_STATUS_SUCCESS);
    check_offered(&display, config);
    surface = make_surface(&display, VA_FOURCC_NV12, 2 * SIZE, SIZE);
    small = make_surface(&display, VA_FOURCC_NV12, SIZE, SIZE);
    CHECK(display.calls.vaCreateContext(&display.context, config, SIZE, SIZE, 0, &small, 1,
                                        &context) == VA_STATUS_SUCCESS);
    CHECK(decode(&display, context, small, &buffers) == VA_STATUS_SUCCESS);
    check_pixels(&display, small);
    check_refusals(&display, context, surface);
    check_pixels(&display, surface);
    check_wrong_buffers(&display, context, surface);
    /* A picture that was not ended is given up, with its context or with its display. */
    CHECK(display.calls.vaBeginPicture(&display.context, context, small) == VA_STATUS_SUCCESS);
    close_display(&display);
}
