/* SPDX-License-Identifier: Apache-2.0 */
/* Video processing that converts: colours of flat pictures, samples between samples, and refusals. */
#include <string.h>

#include "check.h"

enum { SIZE = 32 };

struct job {
    struct display *display;
    VAContextID context;
};

/* Fills a surface: luma or a whole pixel by `first`, chroma by `second` (two bytes, by turns). */
static VASurfaceID filled(const struct job *job, uint32_t fourcc, uint32_t size,
                          const uint8_t *first, uint32_t first_bytes, const uint8_t *second,
                          uint32_t second_bytes)
{
    const struct VADriverVTable *calls = &job->display->calls;
    VASurfaceID surface = make_surface(job->display, fourcc, size, size);
    VAImage image;
    void *mapped;
    uint8_t *bytes;

    CHECK(calls->vaDeriveImage(&job->display->context, surface, &image) == VA_STATUS_SUCCESS);
    CHECK(calls->vaMapBuffer(&job->display->context, image.buf, &mapped) == VA_STATUS_SUCCESS);
    bytes = mapped;
    for (uint32_t y = 0; y < size; y++)
        for (uint32_t x = 0; x < size * first_bytes; x++)
            bytes[image.offsets[0] + y * image.pitches[0] + x] = first[x % first_bytes];
    for (uint32_t y = 0; second && y < size / 2; y++)
        for (uint32_t x = 0; x < size / 2 * second_bytes; x++)
            bytes[image.offsets[1] + y * image.pitches[1] + x] = second[x % second_bytes];
    CHECK(calls->vaDestroyImage(&job->display->context, image.image_id) == VA_STATUS_SUCCESS);
    return surface;
}

static VAStatus process(const struct job *job, VASurfaceID target,
                        VAProcPipelineParameterBuffer *parameters)
{
    const struct VADriverVTable *calls = &job->display->calls;
    VABufferID buffer;
    VAStatus status;

    CHECK(calls->vaCreateBuffer(&job->display->context, job->context,
                                VAProcPipelineParameterBufferType, sizeof *parameters, 1,
                                parameters, &buffer) == VA_STATUS_SUCCESS);
    CHECK(calls->vaBeginPicture(&job->display->context, job->context, target) == 0);
    status = calls->vaRenderPicture(&job->display->context, job->context, &buffer, 1);
    CHECK(calls->vaEndPicture(&job->display->context, job->context) == VA_STATUS_SUCCESS);
    CHECK(calls->vaDestroyBuffer(&job->display->context, buffer) == VA_STATUS_SUCCESS);
    return status;
}

/* Compares bytes of every row of a plane with `expected`, over and over. */
static void check_plane(const struct job *job, VASurfaceID surface, uint32_t plane, uint32_t rows,
                        uint32_t row_bytes, const uint8_t *expected, uint32_t period)
{
    const struct VADriverVTable *calls = &job->display->calls;
    VAImage image;
    void *mapped;

    CHECK(calls->vaDeriveImage(&job->display->context, surface, &image) == VA_STATUS_SUCCESS);
    CHECK(calls->vaMapBuffer(&job->display->context, image.buf, &mapped) == VA_STATUS_SUCCESS);
    for (uint32_t y = 0; y < rows; y++)
        for (uint32_t x = 0; x < row_bytes; x++)
            CHECK(((uint8_t *)mapped)[image.offsets[plane] + y * image.pitches[plane] + x] ==
                  expected[x % period]);
    CHECK(calls->vaDestroyImage(&job->display->context, image.image_id) == VA_STATUS_SUCCESS);
}

/* By H.273, red is 81, 90, 240 in BT.601 of limited range, and 63, 102, 240 in BT.709. */
static void check_colors(const struct job *job)
{
    static const uint8_t luma[] = {81}, chroma[] = {90, 240}, red[] = {255, 0, 0, 255};
    static const uint8_t luma10[] = {0, 81}, chroma10[] = {0, 90, 0, 240}, luma709[] = {63};
    static const uint8_t u[] = {90}, v[] = {240};
    VASurfaceID nv12 = filled(job, VA_FOURCC_NV12, SIZE, luma, 1, chroma, 2);
    VASurfaceID rgbx = make_surface(job->display, VA_FOURCC_RGBX, SIZE / 2, SIZE / 2);
    VASurfaceID p010 = make_surface(job->display, VA_FOURCC_P010, SIZE, SIZE);
    VASurfaceID yv12 = make_surface(job->display, VA_FOURCC_YV12, SIZE * 2, SIZE);
    VASurfaceID again = make_surface(job->display, VA_FOURCC_NV12, SIZE, SIZE);
    VAProcPipelineParameterBuffer parameters = {.surface = nv12};

    CHECK(process(job, rgbx, &parameters) == VA_STATUS_SUCCESS);
    /* 8 bits of YUV do not name red itself. */
    check_plane(job, rgbx, 0, SIZE / 2, SIZE / 2 * 4, (const uint8_t[]){254, 0, 0, 255}, 4);
    CHECK(process(job, p010, &parameters) == VA_STATUS_SUCCESS);
    check_plane(job, p010, 0, SIZE, SIZE * 2, luma10, 2);
    check_plane(job, p010, 1, SIZE / 2, SIZE * 2, chroma10, 4);
    CHECK(process(job, yv12, &parameters) == VA_STATUS_SUCCESS);
    check_plane(job, yv12, 0, SIZE, SIZE * 2, luma, 1);
    check_plane(job, yv12, 1, SIZE / 2, SIZE, v, 1);
    check_plane(job, yv12, 2, SIZE / 2, SIZE, u, 1);
    parameters.surface = filled(job, VA_FOURCC_RGBX, SIZE, red, 4, NULL, 0);
    CHECK(process(job, again, &parameters) == VA_STATUS_SUCCESS);
    check_plane(job, again, 0, SIZE, SIZE, luma, 1);
    check_plane(job, again, 1, SIZE / 2, SIZE, chroma, 2);
    parameters.output_color_standard = VAProcColorStandardBT709;
    CHECK(process(job, again, &parameters) == VA_STATUS_SUCCESS);
    check_plane(job, again, 0, SIZE, SIZE, luma709, 1);
    /* The range alone: 81 of 16..235 is 76 of 0..255. */
    parameters = (VAProcPipelineParameterBuffer){.surface = nv12};
    parameters.output_color_properties.color_range = VA_SOURCE_RANGE_FULL;
    CHECK(process(job, again, &parameters) == VA_STATUS_SUCCESS);
    check_plane(job, again, 0, SIZE, SIZE, (const uint8_t[]){76}, 1);
    parameters.surface_color_standard = VAProcColorStandardGenericFilm;
    CHECK(process(job, again, &parameters) == VA_STATUS_ERROR_INVALID_PARAMETER);
}

/* Columns of 0 and 200 by turns: the mean is between them, the nearest sample is one of them. */
static void check_scaling(const struct job *job)
{
    static const uint8_t columns[] = {0, 200}, grey[] = {128, 128};
    VASurfaceID from = filled(job, VA_FOURCC_NV12, SIZE, columns, 2, grey, 2);
    VASurfaceID half = make_surface(job->display, VA_FOURCC_NV12, SIZE / 2, SIZE / 2);
    VAProcPipelineParameterBuffer parameters = {.surface = from};

    CHECK(process(job, half, &parameters) == VA_STATUS_SUCCESS);
    check_plane(job, half, 0, SIZE / 2, SIZE / 2, (const uint8_t[]){100}, 1);
    check_plane(job, half, 1, SIZE / 4, SIZE / 2, grey, 2);
    parameters.filter_flags = VA_FILTER_INTERPOLATION_NEAREST_NEIGHBOR;
    CHECK(process(job, half, &parameters) == VA_STATUS_SUCCESS);
    check_plane(job, half, 0, SIZE / 2, SIZE / 2, (const uint8_t[]){200}, 1);
    parameters.surface = half;
    CHECK(process(job, half, &parameters) == VA_STATUS_ERROR_UNIMPLEMENTED);
}

static void check_layout(const char *variable, const char *value)
{
    struct display display;
    struct job job = {.display = &display};
    VAConfigID config;

    open_display(&display, variable, value);
    CHECK(display.calls.vaCreateConfig(&display.context, VAProfileNone, VAEntrypointVideoProc,
                                       NULL, 0, &config) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaCreateContext(&display.context, config, SIZE, SIZE, 0, NULL, 0,
                                        &job.context) == VA_STATUS_SUCCESS);
    check_colors(&job);
    check_scaling(&job);
    close_display(&display);
}

void check_conversion(void)
{
    check_layout(NULL, NULL);
    check_layout("SOFTVA_PITCH_ALIGN", "1");
}
