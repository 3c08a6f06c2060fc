/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks share: a display of the driver, which lies in the same program. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <va/va.h>
#include <va/va_backend.h>
#include <va/va_drmcommon.h>
#include <va/va_vpp.h>

#include <va/va_backend_vpp.h>

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)

void check(bool right, const char *what, const char *file, int line);

struct display {
    struct VADriverContext context;
    struct VADriverVTable calls;
    struct VADriverVTableVPP vpp;
    char message[256]; /* the last that the driver gave */
};

VAStatus __vaDriverInit_1_0(VADriverContextP context);

/* Opens a display; `variable`, if any, is set to `value` while that is done. */
VAStatus try_display(struct display *display, const char *variable, const char *value);
void open_display(struct display *display, const char *variable, const char *value);
void close_display(struct display *display);

/* The attribute that asks for a pixel format, and those of an import. */
VASurfaceAttrib whole_number(VASurfaceAttribType type, int32_t value);
VASurfaceAttrib pointer(VASurfaceAttribType type, void *value);

/* Makes a surface; an error is a failed check. */
VASurfaceID make_surface(struct display *display, uint32_t fourcc, uint32_t width,
                         uint32_t height);

/* Makes a surface of the descriptor of a memory type. */
VAStatus import_surface(struct display *display, uint32_t memory_type, void *descriptor,
                        VASurfaceID *surface);

/* Exports a surface; closes what was exported. */
VAStatus export_surface(struct display *display, VASurfaceID surface, uint32_t flags,
                        VADRMPRIMESurfaceDescriptor *descriptor);
void close_descriptors(const VADRMPRIMESurfaceDescriptor *descriptor);

/* Makes an image of the format and size, with all bytes `value`. */
VAImage make_image(struct display *display, uint32_t fourcc, uint32_t width, uint32_t height,
                   uint8_t value);

/* How often `text` stands in the report of what lives. */
int count_live(const char *text);

/* The parts of the check. */
void check_pictures(void);
void check_decoding(void);
void check_conversion(void);
void check_sharing(void);
void check_objects(void);
void check_threads(void);
void check_forks(void); /* alone, and not under sanitizers */

#endif
