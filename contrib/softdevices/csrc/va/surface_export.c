/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <va/va_drmcommon.h>

#include "surfaces.h"

/* Describes a surface without its descriptors. */
static void describe(const struct softva_surface *surface, bool composed,
                     VADRMPRIMESurfaceDescriptor *into)
{
    const struct softva_format *format = surface->format;

    memset(into, 0, sizeof *into);
    into->fourcc = format->fourcc;
    into->width = surface->width;
    into->height = surface->height;
    into->num_layers = composed ? 1 : format->plane_count;
    for (uint32_t i = 0; i < format->plane_count; i++) {
        uint32_t layer = composed ? 0 : i, plane = composed ? i : 0;

        into->layers[layer].drm_format = composed ? format->drm : format->planes[i].drm;
        into->layers[layer].num_planes = plane + 1;
        into->layers[layer].object_index[plane] = surface->layout.planes[i].object;
        into->layers[layer].offset[plane] = surface->layout.planes[i].offset;
        into->layers[layer].pitch[plane] = surface->layout.planes[i].pitch;
    }
}

/* Adds a new descriptor of each object; all or none. */
static VAStatus add_descriptors(struct softva_display *display,
                                const struct softva_surface *surface,
                                VADRMPRIMESurfaceDescriptor *into)
{
    for (uint32_t i = 0; i < surface->layout.object_count; i++) {
        int fd = fcntl(surface->objects[i]->fd, F_DUPFD_CLOEXEC, 0);

        if (fd < 0) {
            while (i--)
                close(into->objects[i].fd);
            return VA_STATUS_ERROR_ALLOCATION_FAILED;
        }
        into->objects[i].fd = fd;
        into->objects[i].size = (uint32_t)surface->objects[i]->size;
        into->objects[i].drm_format_modifier = surface->layout.modifier;
    }
    into->num_objects = surface->layout.object_count;
    for (uint32_t i = 0; i < into->num_objects; i++)
        softva_descriptors_add(&display->descriptors, into->objects[i].fd, surface->object.id);
    return VA_STATUS_SUCCESS;
}

static VAStatus export_surface(struct softva_display *display, VASurfaceID id,
                               uint32_t memory_type, uint32_t flags,
                               VADRMPRIMESurfaceDescriptor *into)
{
    const struct softva_surface *surface =
        softva_table_find(&display->table, id, SOFTVA_SURFACE);
    bool composed = flags & VA_EXPORT_SURFACE_COMPOSED_LAYERS;

    softva_trace(display, "export surface %u, flags 0x%x", id, flags);
    if (!surface)
        return VA_STATUS_ERROR_INVALID_SURFACE;
    if (memory_type != VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2)
        return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
    if (!into || (composed && (flags & VA_EXPORT_SURFACE_SEPARATE_LAYERS)))
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    /* What Mesa's drivers answer where they cannot. */
    if (composed && (!surface->format->drm ||
                     (display->options.separate_layers && surface->format->plane_count > 1)))
        return VA_STATUS_ERROR_INVALID_SURFACE;
    describe(surface, composed, into);
    return add_descriptors(display, surface, into);
}

VAStatus softva_export_surface_handle(VADriverContextP context, VASurfaceID surface,
                                      uint32_t memory_type, uint32_t flags, void *descriptor)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaExportSurfaceHandle");

    if (status == VA_STATUS_SUCCESS)
        status = export_surface(call.display, surface, memory_type, flags, descriptor);
    return softva_end(&call, status);
}
