/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTVA_SURFACES_H
#define SOFTVA_SURFACES_H

#include "display.h"
#include "layout.h"
#include "pixels.h"

enum { SOFTVA_MAX_SIZE = 16384 };

struct softva_surface {
    struct softva_object object;
    const struct softva_format *format;
    uint32_t width, height;
    struct softva_layout layout;
    struct softva_memory *objects[SOFTVA_MAX_OBJECTS];
};

/* surface_import.c: fill a new surface. What it holds is given back by the caller, also if that
 * fails. `index` is the place of the surface among those that are made of the descriptor. */
VAStatus softva_import_prime2(struct softva_surface *surface, const void *descriptors,
                              unsigned int index);
VAStatus softva_import_prime(struct softva_surface *surface, const void *descriptor,
                             unsigned int index);

/* Gives the memory of a surface back. */
void softva_surface_free(struct softva_surface *surface);

/* The pixels of a surface. */
struct softva_picture softva_surface_picture(const struct softva_surface *surface);

/* The CPU begins or ends to access a surface; `access` as in memory.h. */
void softva_surface_begin(const struct softva_surface *surface, uint64_t access);
void softva_surface_end(const struct softva_surface *surface, uint64_t access);

/* Functions of the vtable. */
VAStatus softva_create_surfaces(VADriverContextP context, int width, int height, int format,
                                int count, VASurfaceID *surfaces);
VAStatus softva_create_surfaces2(VADriverContextP context, unsigned int format, unsigned int width,
                                 unsigned int height, VASurfaceID *surfaces, unsigned int count,
                                 VASurfaceAttrib *attributes, unsigned int attribute_count);
VAStatus softva_destroy_surfaces(VADriverContextP context, VASurfaceID *surfaces, int count);
VAStatus softva_query_surface_attributes(VADriverContextP context, VAConfigID config,
                                         VASurfaceAttrib *attributes, unsigned int *count);
VAStatus softva_sync_surface(VADriverContextP context, VASurfaceID surface);
VAStatus softva_sync_surface2(VADriverContextP context, VASurfaceID surface, uint64_t timeout);
VAStatus softva_query_surface_status(VADriverContextP context, VASurfaceID surface,
                                     VASurfaceStatus *status);
VAStatus softva_query_surface_error(VADriverContextP context, VASurfaceID surface, VAStatus error,
                                    void **information);
VAStatus softva_export_surface_handle(VADriverContextP context, VASurfaceID surface,
                                      uint32_t memory_type, uint32_t flags, void *descriptor);

#endif
