/* SPDX-License-Identifier: Apache-2.0 */
/* Surfaces over memory of the program (va/va_drmcommon.h). Its descriptors stay the program's. */
#include <va/va_drmcommon.h>

#include "drm_codes.h"
#include "surfaces.h"

static VAStatus set_shape(struct softva_surface *surface, uint32_t fourcc, uint32_t width,
                          uint32_t height)
{
    surface->format = softva_format_of(fourcc);
    surface->width = width;
    surface->height = height;
    if (!surface->format)
        return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
    if (!width || !height || width > SOFTVA_MAX_SIZE || height > SOFTVA_MAX_SIZE)
        return VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED;
    return VA_STATUS_SUCCESS;
}

/* Imports one object more. */
static VAStatus add_object(struct softva_surface *surface, int fd, size_t size)
{
    struct softva_memory *memory = softva_memory_import(fd, size);
    uint32_t place = surface->layout.object_count;

    if (!memory)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    surface->objects[place] = memory;
    surface->layout.object_sizes[place] = memory->size;
    surface->layout.object_count++;
    return VA_STATUS_SUCCESS;
}

static VAStatus check_fit(const struct softva_surface *surface)
{
    bool fits = softva_layout_fits(&surface->layout, surface->format, surface->width,
                                   surface->height);

    return fits ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_PARAMETER;
}

/* All objects of a surface have one modifier, as the layout of a plane belongs to the surface. */
static bool take_modifier(struct softva_surface *surface, uint64_t modifier, bool first)
{
    if (modifier == SOFTVA_MODIFIER_INVALID)
        modifier = SOFTVA_MODIFIER_LINEAR;
    if (modifier != SOFTVA_MODIFIER_LINEAR && modifier != SOFTVA_MODIFIER_Y_TILED)
        return false;
    if (first)
        surface->layout.modifier = modifier;
    return surface->layout.modifier == modifier;
}

/* Takes the planes of all layers, one after another; false if these are not as many as the format
 * has. */
static bool take_planes(struct softva_surface *surface, const VADRMPRIMESurfaceDescriptor *from)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < from->num_layers; i++)
        for (uint32_t j = 0; j < from->layers[i].num_planes; j++) {
            if (found == surface->format->plane_count)
                return false;
            surface->layout.planes[found++] = (struct softva_plane){
                .object = from->layers[i].object_index[j],
                .offset = from->layers[i].offset[j],
                .pitch = from->layers[i].pitch[j],
            };
        }
    return found == surface->format->plane_count;
}

VAStatus softva_import_prime2(struct softva_surface *surface, const void *descriptors,
                              unsigned int index)
{
    const VADRMPRIMESurfaceDescriptor *from =
        (const VADRMPRIMESurfaceDescriptor *)descriptors + index;
    VAStatus status = set_shape(surface, from->fourcc, from->width, from->height);

    if (status != VA_STATUS_SUCCESS)
        return status;
    if (!from->num_objects || from->num_objects > SOFTVA_MAX_OBJECTS || from->num_layers > 4 ||
        !take_planes(surface, from))
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    for (uint32_t i = 0; i < from->num_objects; i++) {
        if (!take_modifier(surface, from->objects[i].drm_format_modifier, i == 0))
            return VA_STATUS_ERROR_INVALID_PARAMETER;
        status = add_object(surface, from->objects[i].fd, from->objects[i].size);
        if (status != VA_STATUS_SUCCESS)
            return status;
    }
    return check_fit(surface);
}

VAStatus softva_import_prime(struct softva_surface *surface, const void *descriptor,
                             unsigned int index)
{
    const VASurfaceAttribExternalBuffers *from = descriptor;
    VAStatus status = set_shape(surface, from->pixel_format, from->width, from->height);

    if (status != VA_STATUS_SUCCESS)
        return status;
    if (from->num_planes != surface->format->plane_count || index >= from->num_buffers ||
        !from->buffers)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (from->flags & VA_SURFACE_EXTBUF_DESC_ENABLE_TILING)
        surface->layout.modifier = SOFTVA_MODIFIER_Y_TILED;
    for (uint32_t i = 0; i < from->num_planes; i++)
        surface->layout.planes[i] =
            (struct softva_plane){.offset = from->offsets[i], .pitch = from->pitches[i]};
    status = add_object(surface, (int)from->buffers[index], from->data_size);
    return status == VA_STATUS_SUCCESS ? check_fit(surface) : status;
}
