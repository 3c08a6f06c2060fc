/* SPDX-License-Identifier: Apache-2.0 */
/* The whole driver by its vtable, for sanitizers and valgrind. Prints "done" when all is well. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../csrc/va/report.h"

void check(bool right, const char *what, const char *file, int line)
{
    if (right)
        return;
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    exit(1);
}

static void keep_message(VADriverContextP context, const char *message)
{
    struct display *display = (struct display *)context;

    snprintf(display->message, sizeof display->message, "%s", message);
}

VAStatus try_display(struct display *display, const char *variable, const char *value)
{
    VAStatus status;

    memset(display, 0, sizeof *display);
    display->context.vtable = &display->calls;
    display->context.vtable_vpp = &display->vpp;
    display->context.error_callback = keep_message;
    if (variable)
        setenv(variable, value, 1);
    status = __vaDriverInit_1_0(&display->context);
    if (variable)
        unsetenv(variable);
    return status;
}

void open_display(struct display *display, const char *variable, const char *value)
{
    CHECK(try_display(display, variable, value) == VA_STATUS_SUCCESS);
}

void close_display(struct display *display)
{
    CHECK(display->calls.vaTerminate(&display->context) == VA_STATUS_SUCCESS);
}

VASurfaceAttrib whole_number(VASurfaceAttribType type, int32_t value)
{
    return (VASurfaceAttrib){.type = type,
                             .flags = VA_SURFACE_ATTRIB_SETTABLE,
                             .value = {VAGenericValueTypeInteger, {.i = value}}};
}

VASurfaceAttrib pointer(VASurfaceAttribType type, void *value)
{
    return (VASurfaceAttrib){.type = type,
                             .flags = VA_SURFACE_ATTRIB_SETTABLE,
                             .value = {VAGenericValueTypePointer, {.p = value}}};
}

VASurfaceID make_surface(struct display *display, uint32_t fourcc, uint32_t width, uint32_t height)
{
    VASurfaceAttrib format = whole_number(VASurfaceAttribPixelFormat, (int32_t)fourcc);
    VASurfaceID surface = VA_INVALID_SURFACE;

    CHECK(display->calls.vaCreateSurfaces2(&display->context, 0, width, height, &surface, 1,
                                           &format, 1) == VA_STATUS_SUCCESS);
    return surface;
}

VAStatus import_surface(struct display *display, uint32_t memory_type, void *descriptor,
                        VASurfaceID *surface)
{
    VASurfaceAttrib attributes[] = {
        whole_number(VASurfaceAttribMemoryType, (int32_t)memory_type),
        pointer(VASurfaceAttribExternalBufferDescriptor, descriptor),
    };

    return display->calls.vaCreateSurfaces2(&display->context, VA_RT_FORMAT_YUV420, 16, 16,
                                            surface, 1, attributes, 2);
}

VAStatus export_surface(struct display *display, VASurfaceID surface, uint32_t flags,
                        VADRMPRIMESurfaceDescriptor *descriptor)
{
    return display->calls.vaExportSurfaceHandle(&display->context, surface,
                                                VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2, flags,
                                                descriptor);
}

void close_descriptors(const VADRMPRIMESurfaceDescriptor *descriptor)
{
    for (uint32_t i = 0; i < descriptor->num_objects; i++)
        CHECK(close(descriptor->objects[i].fd) == 0);
}

VAImage make_image(struct display *display, uint32_t fourcc, uint32_t width, uint32_t height,
                   uint8_t value)
{
    VAImageFormat format = {.fourcc = fourcc};
    VAImage image;
    void *bytes;

    CHECK(display->calls.vaCreateImage(&display->context, &format, (int)width, (int)height,
                                       &image) == VA_STATUS_SUCCESS);
    CHECK(display->calls.vaMapBuffer(&display->context, image.buf, &bytes) == VA_STATUS_SUCCESS);
    memset(bytes, value, image.data_size);
    CHECK(display->calls.vaUnmapBuffer(&display->context, image.buf) == VA_STATUS_SUCCESS);
    return image;
}

int count_live(const char *text)
{
    char *report = softva_report_live();
    int count = 0;

    CHECK(report != NULL);
    for (const char *at = strstr(report, text); at; at = strstr(at + 1, text))
        count++;
    softva_report_free(report);
    return count;
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "forks") == 0) {
        check_forks();
    } else {
        check_pictures();
        check_decoding();
        check_conversion();
        check_sharing();
        check_objects();
        check_threads();
    }
    CHECK(count_live("softva ") == 0);
    puts("done");
    return 0;
}
