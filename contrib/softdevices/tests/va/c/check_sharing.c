/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that leaves the driver by descriptors, and comes back. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../csrc/va/drm_codes.h"
#include "../../../csrc/va/formats.h"
#include "check.h"

enum { SEPARATE = VA_EXPORT_SURFACE_READ_WRITE | VA_EXPORT_SURFACE_SEPARATE_LAYERS };
enum { COMPOSED = VA_EXPORT_SURFACE_READ_ONLY | VA_EXPORT_SURFACE_COMPOSED_LAYERS };

static void export_and_import(struct display *display, uint32_t fourcc, uint32_t flags)
{
    VASurfaceID surface = make_surface(display, fourcc, 100, 36), other;
    const struct softva_format *format = softva_format_of(fourcc);
    VAImage image = make_image(display, fourcc, 100, 36, 0x5a);
    VADRMPRIMESurfaceDescriptor descriptor, again;
    VAImage seen = make_image(display, fourcc, 100, 36, 0);
    void *bytes;

    CHECK(export_surface(display, surface, flags, &descriptor) == VA_STATUS_SUCCESS);
    CHECK(descriptor.fourcc == fourcc && descriptor.width == 100 && descriptor.height == 36);
    CHECK(descriptor.num_layers == (flags == COMPOSED ? 1 : format->plane_count));
    CHECK(import_surface(display, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2, &descriptor, &other) ==
          VA_STATUS_SUCCESS);
    close_descriptors(&descriptor);
    CHECK(display->calls.vaDestroySurfaces(&display->context, &surface, 1) == VA_STATUS_SUCCESS);
    CHECK(export_surface(display, other, flags, &again) == VA_STATUS_SUCCESS);
    CHECK(display->calls.vaPutImage(&display->context, other, image.image_id, 0, 0, 100, 36, 0, 0,
                                    100, 36) == VA_STATUS_SUCCESS);
    bytes = mmap(NULL, again.objects[0].size, PROT_READ, MAP_SHARED, again.objects[0].fd, 0);
    CHECK(bytes != MAP_FAILED);
    CHECK(((uint8_t *)bytes)[again.layers[0].offset[0]] == 0x5a);
    CHECK(munmap(bytes, again.objects[0].size) == 0);
    close_descriptors(&again);
    CHECK(display->calls.vaGetImage(&display->context, other, 0, 0, 100, 36, seen.image_id) ==
          VA_STATUS_SUCCESS);
    CHECK(display->calls.vaDestroyImage(&display->context, seen.image_id) == VA_STATUS_SUCCESS);
    CHECK(display->calls.vaDestroyImage(&display->context, image.image_id) == VA_STATUS_SUCCESS);
    CHECK(display->calls.vaDestroySurfaces(&display->context, &other, 1) == VA_STATUS_SUCCESS);
}

static void check_exports(const char *variable, const char *value)
{
    struct display display;

    open_display(&display, variable, value);
    for (size_t i = 0; i < softva_format_count; i++) {
        export_and_import(&display, softva_formats[i].fourcc, SEPARATE);
        if (softva_formats[i].drm)
            export_and_import(&display, softva_formats[i].fourcc, COMPOSED);
    }
    CHECK(count_live("softva ") == 0);
    close_display(&display);
}

static void check_refused_exports(void)
{
    struct display display;
    VASurfaceID surface, planar;
    VADRMPRIMESurfaceDescriptor descriptor;

    open_display(&display, "SOFTVA_LAYERS", "separate");
    surface = make_surface(&display, VA_FOURCC_NV12, 64, 64);
    planar = make_surface(&display, VA_FOURCC_RGBP, 64, 64);
    CHECK(export_surface(&display, surface, COMPOSED, &descriptor) ==
          VA_STATUS_ERROR_INVALID_SURFACE);
    CHECK(export_surface(&display, planar, COMPOSED, &descriptor) ==
          VA_STATUS_ERROR_INVALID_SURFACE);
    CHECK(export_surface(&display, surface, COMPOSED | SEPARATE, &descriptor) ==
          VA_STATUS_ERROR_INVALID_PARAMETER);
    CHECK(export_surface(&display, planar + 1, SEPARATE, &descriptor) ==
          VA_STATUS_ERROR_INVALID_SURFACE);
    CHECK(display.calls.vaExportSurfaceHandle(
              &display.context, surface, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME, SEPARATE,
              &descriptor) == VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE);
    close_display(&display);
}

/* Surfaces over memory that is not of the driver, and what is wrong with such memory. */
static void check_imports(void)
{
    const uint32_t prime2 = VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2;
    int fd = memfd_create("check", MFD_CLOEXEC);
    const VADRMPRIMESurfaceDescriptor good = {
        .fourcc = VA_FOURCC_NV12,
        .width = 64,
        .height = 32,
        .num_objects = 1,
        .objects = {{.fd = fd, .drm_format_modifier = SOFTVA_MODIFIER_INVALID}},
        .num_layers = 1,
        .layers = {{.drm_format = SOFTVA_CODE('N', 'V', '1', '2'),
                    .num_planes = 2,
                    .offset = {0, 64 * 32},
                    .pitch = {64, 64}}},
    };
    VADRMPRIMESurfaceDescriptor bad;
    struct display display;
    VASurfaceID surface = 0;

    CHECK(ftruncate(fd, 64 * 48) == 0);
    open_display(&display, NULL, NULL);
    bad = good;
    CHECK(import_surface(&display, prime2, &bad, &surface) == VA_STATUS_SUCCESS);
    bad.objects[0].size = 64 * 48 + 1;
    CHECK(import_surface(&display, prime2, &bad, &surface) == VA_STATUS_ERROR_ALLOCATION_FAILED);
    CHECK(surface == VA_INVALID_SURFACE);
    bad = good;
    bad.layers[0].offset[1]++;
    CHECK(import_surface(&display, prime2, &bad, &surface) == VA_STATUS_ERROR_INVALID_PARAMETER);
    bad = good;
    bad.layers[0].pitch[1] = 63;
    CHECK(import_surface(&display, prime2, &bad, &surface) == VA_STATUS_ERROR_INVALID_PARAMETER);
    bad = good;
    bad.layers[0].object_index[1] = 1;
    CHECK(import_surface(&display, prime2, &bad, &surface) == VA_STATUS_ERROR_INVALID_PARAMETER);
    bad = good;
    bad.layers[0].num_planes = 1;
    CHECK(import_surface(&display, prime2, &bad, &surface) == VA_STATUS_ERROR_INVALID_PARAMETER);
    bad = good;
    bad.layers[0].num_planes = UINT32_MAX;
    CHECK(import_surface(&display, prime2, &bad, &surface) == VA_STATUS_ERROR_INVALID_PARAMETER);
    bad = good;
    bad.num_objects = 5;
    CHECK(import_surface(&display, prime2, &bad, &surface) == VA_STATUS_ERROR_INVALID_PARAMETER);
    bad = good;
    bad.fourcc = 1;
    CHECK(import_surface(&display, prime2, &bad, &surface) == VA_STATUS_ERROR_INVALID_IMAGE_FORMAT);
    bad = good;
    bad.width = 0;
    CHECK(import_surface(&display, prime2, &bad, &surface) ==
          VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED);
    bad = good;
    bad.objects[0].drm_format_modifier = 3;
    CHECK(import_surface(&display, prime2, &bad, &surface) == VA_STATUS_ERROR_INVALID_PARAMETER);
    /* The tiles of these planes would not all be there. */
    bad.objects[0].drm_format_modifier = SOFTVA_MODIFIER_Y_TILED;
    CHECK(import_surface(&display, prime2, &bad, &surface) == VA_STATUS_ERROR_INVALID_PARAMETER);
    bad = good;
    bad.objects[0].fd = -1;
    CHECK(import_surface(&display, prime2, &bad, &surface) == VA_STATUS_ERROR_ALLOCATION_FAILED);
    CHECK(import_surface(&display, prime2, NULL, &surface) == VA_STATUS_ERROR_INVALID_PARAMETER);
    CHECK(import_surface(&display, VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR, &bad, &surface) ==
          VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE);
    CHECK(count_live("softva surface") == 1);
    close_display(&display);
    CHECK(close(fd) == 0);
}

/* The older descriptor, and the older export. */
static void check_prime(void)
{
    struct display display;
    VASurfaceID surface, other;
    VAImage image;
    VABufferInfo information = {0};
    VASurfaceAttribExternalBuffers buffers = {0};
    uintptr_t handle;

    open_display(&display, NULL, NULL);
    surface = make_surface(&display, VA_FOURCC_NV12, 64, 32);
    CHECK(display.calls.vaDeriveImage(&display.context, surface, &image) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaAcquireBufferHandle(&display.context, image.buf, &information) ==
          VA_STATUS_SUCCESS);
    CHECK(information.mem_type == VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME);
    handle = information.handle;
    buffers.pixel_format = VA_FOURCC_NV12;
    buffers.width = 64;
    buffers.height = 32;
    buffers.data_size = image.data_size;
    buffers.num_planes = 2;
    memcpy(buffers.pitches, image.pitches, sizeof image.pitches);
    memcpy(buffers.offsets, image.offsets, sizeof image.offsets);
    buffers.buffers = &handle;
    buffers.num_buffers = 1;
    CHECK(import_surface(&display, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME, &buffers, &other) ==
          VA_STATUS_SUCCESS);
    buffers.num_planes = 3;
    CHECK(import_surface(&display, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME, &buffers, &other) ==
          VA_STATUS_ERROR_INVALID_PARAMETER);
    CHECK(display.calls.vaReleaseBufferHandle(&display.context, image.buf) == VA_STATUS_SUCCESS);
    CHECK(display.calls.vaReleaseBufferHandle(&display.context, image.buf) ==
          VA_STATUS_ERROR_INVALID_BUFFER);
    CHECK(fcntl((int)handle, F_GETFD) == -1);
    close_display(&display);
}

void check_sharing(void)
{
    check_exports(NULL, NULL);
    check_exports("SOFTVA_TILING", "y");
    check_exports("SOFTVA_OBJECTS", "separate");
    check_refused_exports();
    check_imports();
    check_prime();
}
