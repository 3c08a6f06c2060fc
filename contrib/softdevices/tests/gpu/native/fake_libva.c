/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_libva.h"

#include <unistd.h>

enum { INVALID_SURFACE = 6, INVALID_PARAMETER = 18 };

int vaSyncSurface(struct fake_display *display, unsigned int surface);
int vaExportSurfaceHandle(struct fake_display *display, unsigned int surface, uint32_t memory_type,
                          uint32_t flags, struct softgpu_va_descriptor *descriptor);

int vaSyncSurface(struct fake_display *display, unsigned int surface)
{
    display->waits++;
    return surface == display->surface ? 0 : INVALID_SURFACE;
}

int vaExportSurfaceHandle(struct fake_display *display, unsigned int surface, uint32_t memory_type,
                          uint32_t flags, struct softgpu_va_descriptor *descriptor)
{
    if (surface != display->surface)
        return INVALID_SURFACE;
    if (memory_type != SOFTGPU_VA_MEM_TYPE_DRM_PRIME_2 ||
        !(flags & SOFTGPU_VA_EXPORT_SURFACE_SEPARATE_LAYERS))
        return INVALID_PARAMETER;
    *descriptor = display->descriptor;
    for (uint32_t i = 0; i < descriptor->num_objects; i++)
        descriptor->objects[i].fd = dup(display->descriptor.objects[i].fd);
    return 0;
}
