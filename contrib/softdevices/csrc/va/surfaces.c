/* SPDX-License-Identifier: Apache-2.0 */
#include "surfaces.h"

#include <stdlib.h>
#include <va/va_drmcommon.h>

#include "drm_codes.h"

/* What a program asks for with the attributes of vaCreateSurfaces. */
struct request {
    const struct softva_format *format;
    uint32_t width, height;
    uint32_t memory_type;
    const void *external;
    uint64_t modifier;
};

/* Takes the modifier that the driver likes best of those that the program allows. */
static VAStatus choose_modifier(const VADRMFormatModifierList *list, struct request *request)
{
    bool linear = false, tiled = false;

    for (uint32_t i = 0; list && i < list->num_modifiers; i++) {
        linear |= list->modifiers[i] == SOFTVA_MODIFIER_LINEAR;
        tiled |= list->modifiers[i] == SOFTVA_MODIFIER_Y_TILED;
    }
    if (!linear && !tiled)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (request->modifier == SOFTVA_MODIFIER_LINEAR ? !linear : !tiled)
        request->modifier = linear ? SOFTVA_MODIFIER_LINEAR : SOFTVA_MODIFIER_Y_TILED;
    return VA_STATUS_SUCCESS;
}

static VAStatus read_attribute(const VASurfaceAttrib *attribute, struct request *request)
{
    const VAGenericValue *value = &attribute->value;

    switch (attribute->type) {
    case VASurfaceAttribPixelFormat:
        request->format = softva_format_of((uint32_t)value->value.i);
        return request->format ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
    case VASurfaceAttribMemoryType:
        request->memory_type = (uint32_t)value->value.i;
        return VA_STATUS_SUCCESS;
    case VASurfaceAttribExternalBufferDescriptor:
        request->external = value->value.p;
        return VA_STATUS_SUCCESS;
    case VASurfaceAttribDRMFormatModifiers:
        return choose_modifier(value->value.p, request);
    case VASurfaceAttribUsageHint: /* all surfaces are good for all uses */
        return VA_STATUS_SUCCESS;
    default:
        return VA_STATUS_ERROR_ATTR_NOT_SUPPORTED;
    }
}

static VAStatus read_request(const struct softva_display *display, unsigned int rt_format,
                             const VASurfaceAttrib *attributes, unsigned int count,
                             struct request *request)
{
    request->memory_type = VA_SURFACE_ATTRIB_MEM_TYPE_VA;
    request->modifier = display->options.modifier;
    for (unsigned int i = 0; i < count; i++) {
        VAStatus status = VA_STATUS_SUCCESS;

        if (attributes[i].flags & VA_SURFACE_ATTRIB_SETTABLE)
            status = read_attribute(&attributes[i], request);
        if (status != VA_STATUS_SUCCESS)
            return status;
    }
    switch (request->memory_type) {
    case VA_SURFACE_ATTRIB_MEM_TYPE_VA:
        break;
    case VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME:
    case VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2:
        /* The descriptor names the format and the size. */
        return request->external ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_PARAMETER;
    default:
        return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
    }
    if (!request->format)
        request->format = softva_format_of_rt(rt_format);
    if (!request->format)
        return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
    if (!request->width || !request->height || request->width > SOFTVA_MAX_SIZE ||
        request->height > SOFTVA_MAX_SIZE)
        return VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED;
    return VA_STATUS_SUCCESS;
}

static VAStatus allocate(const struct softva_display *display, const struct request *request,
                         struct softva_surface *surface)
{
    struct softva_layout *layout = &surface->layout;
    uint32_t count;

    surface->format = request->format;
    surface->width = request->width;
    surface->height = request->height;
    layout->modifier = request->modifier;
    softva_lay_out(layout, surface->format, surface->width, surface->height,
                   display->options.pitch_align, display->options.separate_objects);
    count = layout->object_count;
    for (layout->object_count = 0; layout->object_count < count; layout->object_count++) {
        uint32_t i = layout->object_count;

        surface->objects[i] =
            softva_memory_allocate(display->options.memory, layout->object_sizes[i]);
        if (!surface->objects[i])
            return VA_STATUS_ERROR_ALLOCATION_FAILED;
    }
    return VA_STATUS_SUCCESS;
}

static VAStatus fill(const struct softva_display *display, const struct request *request,
                     unsigned int index, struct softva_surface *surface)
{
    switch (request->memory_type) {
    case VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2:
        return softva_import_prime2(surface, request->external, index);
    case VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME:
        return softva_import_prime(surface, request->external, index);
    default:
        return allocate(display, request, surface);
    }
}

void softva_surface_free(struct softva_surface *surface)
{
    for (uint32_t i = 0; i < surface->layout.object_count; i++)
        softva_memory_drop(surface->objects[i]);
    free(surface);
}

static VAStatus create_one(struct softva_display *display, const struct request *request,
                           unsigned int index, VASurfaceID *id)
{
    struct softva_surface *surface = calloc(1, sizeof *surface);
    VAStatus status;

    if (!surface)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    status = fill(display, request, index, surface);
    if (status == VA_STATUS_SUCCESS)
        status = softva_table_add(&display->table, &surface->object, SOFTVA_SURFACE);
    if (status != VA_STATUS_SUCCESS) {
        softva_surface_free(surface);
        return status;
    }
    *id = surface->object.id;
    for (uint32_t i = 0; i < surface->layout.object_count; i++)
        softva_descriptors_forget(&display->descriptors, surface->objects[i]->fd);
    softva_trace(display, "surface %u: %.4s %ux%u, %s", *id,
                 (const char *)&surface->format->fourcc, surface->width, surface->height,
                 surface->objects[0]->source);
    return VA_STATUS_SUCCESS;
}

/* All must exist, or none is destroyed. */
static VAStatus destroy(struct softva_display *display, const VASurfaceID *ids, unsigned int count)
{
    for (unsigned int i = 0; i < count; i++)
        if (!softva_table_find(&display->table, ids[i], SOFTVA_SURFACE))
            return VA_STATUS_ERROR_INVALID_SURFACE;
    for (unsigned int i = 0; i < count; i++) {
        struct softva_surface *surface =
            softva_table_find(&display->table, ids[i], SOFTVA_SURFACE);

        /* An id may stand in the list twice. */
        if (!surface)
            continue;
        softva_table_remove(&display->table, &surface->object);
        softva_surface_free(surface);
    }
    return VA_STATUS_SUCCESS;
}

static VAStatus create_all(struct softva_display *display, const struct request *request,
                           VASurfaceID *ids, unsigned int count)
{
    for (unsigned int i = 0; i < count; i++) {
        VAStatus status = create_one(display, request, i, &ids[i]);

        if (status == VA_STATUS_SUCCESS)
            continue;
        destroy(display, ids, i);
        for (unsigned int j = 0; j < count; j++)
            ids[j] = VA_INVALID_SURFACE;
        return status;
    }
    return VA_STATUS_SUCCESS;
}

VAStatus softva_create_surfaces2(VADriverContextP context, unsigned int format, unsigned int width,
                                 unsigned int height, VASurfaceID *surfaces, unsigned int count,
                                 VASurfaceAttrib *attributes, unsigned int attribute_count)
{
    struct request request = {.width = width, .height = height};
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaCreateSurfaces");

    if (status == VA_STATUS_SUCCESS && (!surfaces || !count || (attribute_count && !attributes)))
        status = VA_STATUS_ERROR_INVALID_PARAMETER;
    if (status == VA_STATUS_SUCCESS)
        status = read_request(call.display, format, attributes, attribute_count, &request);
    if (status == VA_STATUS_SUCCESS)
        status = create_all(call.display, &request, surfaces, count);
    return softva_end(&call, status);
}

VAStatus softva_create_surfaces(VADriverContextP context, int width, int height, int format,
                                int count, VASurfaceID *surfaces)
{
    if (width < 0 || height < 0 || count < 0)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    return softva_create_surfaces2(context, (unsigned int)format, (unsigned int)width,
                                   (unsigned int)height, surfaces, (unsigned int)count, NULL, 0);
}

VAStatus softva_destroy_surfaces(VADriverContextP context, VASurfaceID *surfaces, int count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaDestroySurfaces");

    if (status == VA_STATUS_SUCCESS && (!surfaces || count <= 0))
        status = VA_STATUS_ERROR_INVALID_PARAMETER;
    if (status == VA_STATUS_SUCCESS)
        status = destroy(call.display, surfaces, (unsigned int)count);
    return softva_end(&call, status);
}

struct softva_picture softva_surface_picture(const struct softva_surface *surface)
{
    struct softva_picture picture = {
        .format = surface->format,
        .width = surface->width,
        .height = surface->height,
        .tiled = surface->layout.modifier == SOFTVA_MODIFIER_Y_TILED,
    };

    for (uint32_t i = 0; i < surface->format->plane_count; i++) {
        const struct softva_plane *plane = &surface->layout.planes[i];

        picture.planes[i] = surface->objects[plane->object]->bytes + plane->offset;
        picture.pitches[i] = plane->pitch;
    }
    return picture;
}

void softva_surface_begin(const struct softva_surface *surface, uint64_t access)
{
    for (uint32_t i = 0; i < surface->layout.object_count; i++)
        softva_memory_begin(surface->objects[i], access);
}

void softva_surface_end(const struct softva_surface *surface, uint64_t access)
{
    for (uint32_t i = 0; i < surface->layout.object_count; i++)
        softva_memory_end(surface->objects[i], access);
}
