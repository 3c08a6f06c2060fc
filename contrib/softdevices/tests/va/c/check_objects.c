/* SPDX-License-Identifier: Apache-2.0 */
/* Ids, buffers, configs, video processing, queries, faults, options, and what is left. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../csrc/va/drm_codes.h"
#include "../../../csrc/va/formats.h"
#include "check.h"

static void check_ids(void)
{
    struct display display, other;
    VASurfaceID surface, foreign, pair[2];
    VASurfaceStatus state;
    VAImage image;

    open_display(&display, NULL, NULL);
    open_display(&other, NULL, NULL);
    surface = make_surface(&display, VA_FOURCC_NV12, 64, 64);
    foreign = make_surface(&other, VA_FOURCC_NV12, 64, 64);
    CHECK(surface != foreign);
    CHECK(display.calls.vaSyncSurface(&display.context, foreign) ==
          VA_STATUS_ERROR_INVALID_SURFACE);
    CHECK(display.calls.vaSyncSurface2(&display.context, surface, 0) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaQuerySurfaceStatus(&display.context, surface, &state) ==
          VA_STATUS_SUCCESS);
    CHECK(state == VASurfaceReady);
    CHECK(display.calls.vaQuerySurfaceError(&display.context, surface, 0, NULL) ==
          VA_STATUS_ERROR_UNIMPLEMENTED);
    pair[0] = surface;
    pair[1] = foreign;
    CHECK(display.calls.vaDestroySurfaces(&display.context, pair, 2) ==
          VA_STATUS_ERROR_INVALID_SURFACE);
    CHECK(display.calls.vaSyncSurface(&display.context, surface) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaDeriveImage(&display.context, surface, &image) == VA_STATUS_SUCCESS);
    pair[1] = surface;
    CHECK(display.calls.vaDestroySurfaces(&display.context, pair, 2) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaSyncSurface(&display.context, surface) ==
          VA_STATUS_ERROR_INVALID_SURFACE);
    CHECK(display.calls.vaGetImage(&display.context, surface, 0, 0, 64, 64, image.image_id) ==
          VA_STATUS_ERROR_INVALID_SURFACE);
    CHECK(make_surface(&display, VA_FOURCC_NV12, 64, 64) != surface);
    close_display(&other);
    close_display(&display);
}

/* A derived image keeps its memory when the surface is gone; a mapped one may be left. */
static void check_derived(void)
{
    struct display display;
    VASurfaceID surface;
    VAImage image;
    void *bytes;

    open_display(&display, NULL, NULL);
    surface = make_surface(&display, VA_FOURCC_BGRA, 64, 64);
    CHECK(display.calls.vaDeriveImage(&display.context, surface, &image) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaMapBuffer(&display.context, image.buf, &bytes) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaDestroySurfaces(&display.context, &surface, 1) == VA_STATUS_SUCCESS);
    memset(bytes, 1, image.data_size);
    CHECK(display.calls.vaUnmapBuffer(&display.context, image.buf) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaUnmapBuffer(&display.context, image.buf) ==
          VA_STATUS_ERROR_OPERATION_FAILED);
    CHECK(display.calls.vaMapBuffer(&display.context, image.buf, &bytes) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaDestroyBuffer(&display.context, image.buf) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaDestroyImage(&display.context, image.image_id) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaDestroyImage(&display.context, image.image_id) ==
          VA_STATUS_ERROR_INVALID_IMAGE);
    CHECK(count_live("softva ") == 0);
    close_display(&display);
}

static void check_buffers(struct display *display, VAContextID context)
{
    const struct VADriverVTable *calls = &display->calls;
    const VABufferType type = VAProcFilterParameterBufferType;
    char data[8] = "content";
    unsigned int size, count;
    VABufferType found;
    VABufferID buffer;
    VABufferInfo information = {0};
    void *bytes;

    CHECK(calls->vaCreateBuffer(&display->context, context, type, 4, 2, data, &buffer) == 0);
    CHECK(calls->vaMapBuffer(&display->context, buffer, &bytes) == VA_STATUS_SUCCESS);
    CHECK(memcmp(bytes, data, sizeof data) == 0);
    CHECK(calls->vaUnmapBuffer(&display->context, buffer) == VA_STATUS_SUCCESS);
    CHECK(calls->vaBufferSetNumElements(&display->context, buffer, 3) ==
          VA_STATUS_ERROR_INVALID_PARAMETER);
    CHECK(calls->vaBufferSetNumElements(&display->context, buffer, 1) == VA_STATUS_SUCCESS);
    CHECK(calls->vaBufferInfo(&display->context, buffer, &found, &size, &count) == 0);
    CHECK(found == type && size == 4 && count == 1);
    CHECK(calls->vaSyncBuffer(&display->context, buffer, 0) == VA_STATUS_SUCCESS);
    CHECK(calls->vaAcquireBufferHandle(&display->context, buffer, &information) ==
          VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE);
    CHECK(calls->vaDestroyBuffer(&display->context, buffer) == VA_STATUS_SUCCESS);
    CHECK(calls->vaDestroyBuffer(&display->context, buffer) == VA_STATUS_ERROR_INVALID_BUFFER);
    CHECK(calls->vaMapBuffer(&display->context, buffer, &bytes) == VA_STATUS_ERROR_INVALID_BUFFER);
    CHECK(calls->vaCreateBuffer(&display->context, context, VASliceDataBufferType, 4, 1, NULL,
                                &buffer) == VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE);
    CHECK(calls->vaCreateBuffer(&display->context, context + 1000, type, 4, 1, NULL, &buffer) ==
          VA_STATUS_ERROR_INVALID_CONTEXT);
    CHECK(calls->vaCreateBuffer(&display->context, context, type, 0, 1, NULL, &buffer) ==
          VA_STATUS_ERROR_INVALID_PARAMETER);
}

/* Copies half of one surface over another one. */
static void check_processing(struct display *display, VAContextID context)
{
    const struct VADriverVTable *calls = &display->calls;
    VASurfaceID from = make_surface(display, VA_FOURCC_NV12, 64, 64);
    VASurfaceID to = make_surface(display, VA_FOURCC_NV12, 32, 32);
    VASurfaceID other = make_surface(display, VA_FOURCC_YUY2, 32, 32);
    VARectangle region = {.x = 32, .y = 32, .width = 32, .height = 32};
    VAProcPipelineParameterBuffer parameters = {.surface = from, .surface_region = &region};
    VAImage image = make_image(display, VA_FOURCC_NV12, 32, 32, 123), seen;
    VABufferID buffer;
    void *bytes;

    CHECK(calls->vaPutImage(&display->context, from, image.image_id, 0, 0, 32, 32, 32, 32, 32,
                            32) == VA_STATUS_SUCCESS);
    CHECK(calls->vaCreateBuffer(&display->context, context, VAProcPipelineParameterBufferType,
                                sizeof parameters, 1, &parameters, &buffer) == VA_STATUS_SUCCESS);
    CHECK(calls->vaRenderPicture(&display->context, context, &buffer, 1) ==
          VA_STATUS_ERROR_INVALID_CONTEXT);
    CHECK(calls->vaBeginPicture(&display->context, context, to) == VA_STATUS_SUCCESS);
    CHECK(calls->vaRenderPicture(&display->context, context, &buffer, 1) == VA_STATUS_SUCCESS);
    CHECK(calls->vaEndPicture(&display->context, context) == VA_STATUS_SUCCESS);
    CHECK(calls->vaEndPicture(&display->context, context) == VA_STATUS_ERROR_INVALID_CONTEXT);
    CHECK(calls->vaDeriveImage(&display->context, to, &seen) == VA_STATUS_SUCCESS);
    CHECK(calls->vaMapBuffer(&display->context, seen.buf, &bytes) == VA_STATUS_SUCCESS);
    for (uint32_t y = 0; y < 32; y++)
        CHECK(((uint8_t *)bytes)[y * seen.pitches[0] + y] == 123);
    CHECK(calls->vaBeginPicture(&display->context, context, other) == VA_STATUS_SUCCESS);
    CHECK(calls->vaRenderPicture(&display->context, context, &buffer, 1) ==
          VA_STATUS_ERROR_UNIMPLEMENTED);
    region.width = 33;
    CHECK(calls->vaBeginPicture(&display->context, context, to) == VA_STATUS_SUCCESS);
    CHECK(calls->vaRenderPicture(&display->context, context, &buffer, 1) ==
          VA_STATUS_ERROR_INVALID_PARAMETER);
    CHECK(calls->vaBeginPicture(&display->context, context, 0) == VA_STATUS_ERROR_INVALID_SURFACE);
    CHECK(calls->vaBeginPicture(&display->context, 0, to) == VA_STATUS_ERROR_INVALID_CONTEXT);
}

static void check_surface_attributes(struct display *display, VAConfigID config)
{
    VASurfaceAttrib *list;
    unsigned int count = 0, room;

    CHECK(display->calls.vaQuerySurfaceAttributes(&display->context, config, NULL, &count) == 0);
    CHECK(count > softva_format_count);
    list = calloc(count, sizeof *list);
    room = count - 1;
    CHECK(display->calls.vaQuerySurfaceAttributes(&display->context, config, list, &room) ==
          VA_STATUS_ERROR_MAX_NUM_EXCEEDED);
    CHECK(room == count);
    CHECK(display->calls.vaQuerySurfaceAttributes(&display->context, config, list, &room) == 0);
    CHECK(list[0].type == VASurfaceAttribPixelFormat &&
          list[0].value.value.i == (int32_t)VA_FOURCC_NV12);
    free(list);
    CHECK(display->calls.vaQuerySurfaceAttributes(&display->context, config + 1000, NULL,
                                                  &count) == VA_STATUS_ERROR_INVALID_CONFIG);
}

static void check_configs(void)
{
    VAConfigAttrib attribute = {.type = VAConfigAttribRTFormat, .value = VA_RT_FORMAT_YUV420};
    VAProcPipelineCaps caps;
    VAEntrypoint entrypoint;
    struct display display;
    const struct VADriverVTable *calls = &display.calls;
    VAContextID context;
    VAConfigID config;
    VAProfile profile;
    unsigned int filters = 1;
    int count;

    open_display(&display, NULL, NULL);
    CHECK(calls->vaCreateConfig(&display.context, VAProfileH264Main, VAEntrypointVLD, NULL, 0,
                                &config) == VA_STATUS_ERROR_UNSUPPORTED_PROFILE);
    CHECK(calls->vaCreateConfig(&display.context, VAProfileNone, VAEntrypointVLD, NULL, 0,
                                &config) == VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT);
    CHECK(calls->vaCreateConfig(&display.context, VAProfileNone, VAEntrypointVideoProc, &attribute,
                                1, &config) == VA_STATUS_SUCCESS);
    CHECK(calls->vaQueryConfigAttributes(&display.context, config, &profile, &entrypoint,
                                         &attribute, &count) == VA_STATUS_SUCCESS);
    CHECK(count == 1 && attribute.value == softva_rt_formats());
    CHECK(calls->vaCreateContext(&display.context, config, 64, 64, 0, NULL, 0, &context) == 0);
    CHECK(display.vpp.vaQueryVideoProcFilters(&display.context, context, NULL, &filters) == 0);
    CHECK(filters == 0);
    CHECK(display.vpp.vaQueryVideoProcPipelineCaps(&display.context, context, NULL, 0, &caps) ==
          VA_STATUS_SUCCESS);
    check_surface_attributes(&display, config);
    check_buffers(&display, context);
    check_processing(&display, context);
    CHECK(calls->vaDestroyContext(&display.context, context) == VA_STATUS_SUCCESS);
    CHECK(calls->vaDestroyContext(&display.context, context) == VA_STATUS_ERROR_INVALID_CONTEXT);
    CHECK(calls->vaDestroyConfig(&display.context, config) == VA_STATUS_SUCCESS);
    CHECK(calls->vaDestroyConfig(&display.context, config) == VA_STATUS_ERROR_INVALID_CONFIG);
    close_display(&display);
}

static void check_surfaces(void)
{
    uint64_t modifiers[] = {3, SOFTVA_MODIFIER_Y_TILED};
    VADRMFormatModifierList list = {.num_modifiers = 2, .modifiers = modifiers};
    VASurfaceAttrib attributes[] = {
        whole_number(VASurfaceAttribUsageHint, VA_SURFACE_ATTRIB_USAGE_HINT_EXPORT),
        pointer(VASurfaceAttribDRMFormatModifiers, &list),
    };
    VADRMPRIMESurfaceDescriptor descriptor;
    struct display display;
    const struct VADriverVTable *calls = &display.calls;
    VASurfaceID surfaces[3];
    VAImage image;

    open_display(&display, NULL, NULL);
    CHECK(calls->vaCreateSurfaces(&display.context, 64, 64, VA_RT_FORMAT_YUV420_10, 3, surfaces) ==
          VA_STATUS_SUCCESS);
    CHECK(export_surface(&display, surfaces[2], 0, &descriptor) == VA_STATUS_SUCCESS);
    CHECK(descriptor.fourcc == VA_FOURCC_P010 && descriptor.layers[0].pitch[0] == 128);
    close_descriptors(&descriptor);
    CHECK(calls->vaCreateSurfaces2(&display.context, VA_RT_FORMAT_YUV420, 64, 64, surfaces, 1,
                                   attributes, 2) == VA_STATUS_SUCCESS);
    CHECK(export_surface(&display, surfaces[0], 0, &descriptor) == VA_STATUS_SUCCESS);
    CHECK(descriptor.objects[0].drm_format_modifier == SOFTVA_MODIFIER_Y_TILED);
    close_descriptors(&descriptor);
    CHECK(calls->vaDeriveImage(&display.context, surfaces[0], &image) ==
          VA_STATUS_ERROR_OPERATION_FAILED);
    modifiers[1] = 4;
    CHECK(calls->vaCreateSurfaces2(&display.context, VA_RT_FORMAT_YUV420, 64, 64, surfaces, 1,
                                   attributes, 2) == VA_STATUS_ERROR_INVALID_PARAMETER);
    attributes[0] = whole_number(VASurfaceAttribPixelFormat, 5);
    CHECK(calls->vaCreateSurfaces2(&display.context, 0, 64, 64, surfaces, 1, attributes, 1) ==
          VA_STATUS_ERROR_INVALID_IMAGE_FORMAT);
    CHECK(calls->vaCreateSurfaces(&display.context, 64, 64, 0, 1, surfaces) ==
          VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT);
    CHECK(calls->vaCreateSurfaces(&display.context, 0, 64, VA_RT_FORMAT_YUV420, 1, surfaces) ==
          VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED);
    CHECK(calls->vaCreateSurfaces(&display.context, -1, 64, VA_RT_FORMAT_YUV420, 1, surfaces) ==
          VA_STATUS_ERROR_INVALID_PARAMETER);
    close_display(&display);
}

static void check_faults(void)
{
    struct display display;
    VASurfaceID surface;

    open_display(&display, "SOFTVA_FAIL", "vaSyncSurface@2=0x6,vaDeriveImage");
    surface = make_surface(&display, VA_FOURCC_NV12, 64, 64);
    CHECK(display.calls.vaDeriveImage(&display.context, surface, NULL) ==
          VA_STATUS_ERROR_OPERATION_FAILED);
    CHECK(display.calls.vaSyncSurface(&display.context, surface) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaSyncSurface(&display.context, surface) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaSyncSurface(&display.context, surface) == 6);
    CHECK(display.calls.vaSyncSurface(&display.context, surface) == 6);
    close_display(&display);
}

static void check_options(void)
{
    static const char *const wrong[][2] = {
        {"SOFTVA_MEMORY", "disk"},      {"SOFTVA_PITCH_ALIGN", "3"},
        {"SOFTVA_PITCH_ALIGN", "0"},    {"SOFTVA_PITCH_ALIGN", "131072"},
        {"SOFTVA_PITCH_ALIGN", "64k"},  {"SOFTVA_TILING", "x"},
        {"SOFTVA_OBJECTS", "2"},        {"SOFTVA_LAYERS", "composed"},
        {"SOFTVA_FAIL", "vaMapBuffer@"}, {"SOFTVA_FAIL", "vaMapBuffer=0"},
        {"SOFTVA_FAIL", "@1"},          {"SOFTVA_FAIL", "vaMapBuffer@1x"},
    };
    struct display display;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(try_display(&display, wrong[i][0], wrong[i][1]) ==
              VA_STATUS_ERROR_INVALID_PARAMETER);
        CHECK(strstr(display.message, wrong[i][0]) && strstr(display.message, wrong[i][1]));
    }
    open_display(&display, "SOFTVA_MEMORY", "memfd");
    make_surface(&display, VA_FOURCC_NV12, 64, 64);
    CHECK(count_live("memory=memfd") == 1);
    close_display(&display);
}

static void check_descriptors(void)
{
    VADRMPRIMESurfaceDescriptor first, second;
    struct display display;
    VASurfaceID surface;

    open_display(&display, NULL, NULL);
    surface = make_surface(&display, VA_FOURCC_NV12, 64, 64);
    CHECK(export_surface(&display, surface, 0, &first) == VA_STATUS_SUCCESS);
    CHECK(export_surface(&display, surface, 0, &second) == VA_STATUS_SUCCESS);
    CHECK(count_live("softva descriptor") == 2);
    close_descriptors(&first);
    CHECK(count_live("softva descriptor") == 1);
    /* The number may come to stand for something else. */
    CHECK(dup2(0, second.objects[0].fd) >= 0);
    CHECK(count_live("softva descriptor") == 0);
    close_descriptors(&second);
    close_display(&display);
}

void check_objects(void)
{
    check_ids();
    check_derived();
    check_configs();
    check_surfaces();
    check_faults();
    check_options();
    check_descriptors();
}
