/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of VA surfaces: they are exported by libva, as to any GPU, and mapped. */
#ifndef SOFTGPU_VA_SURFACES_H
#define SOFTGPU_VA_SURFACES_H

#include "layer.h"

/* One plane of a surface, as an OpenCL image over its memory. */
struct softgpu_va_plane {
    void *mapping; /* munmap gives it back */
    size_t mapping_size;
    void *base; /* in the mapping */
    size_t width, height, pitch;
    cl_image_format format;
};

/* Maps a plane of surface `id` of `display`. The memory stays while it is mapped, whatever becomes
 * of the surface. */
cl_int softgpu_va_map(void *display, unsigned int id, cl_uint plane,
                      struct softgpu_va_plane *result);

/* Waits for what the VA-API driver does to the surface; false if that fails. */
bool softgpu_va_wait(void *display, unsigned int id);

#endif
