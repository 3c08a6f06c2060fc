/* SPDX-License-Identifier: Apache-2.0 */
/* The surfaces that programs registered, in place of those of a VA-API driver. */
#ifndef SOFTGPU_VA_SURFACES_H
#define SOFTGPU_VA_SURFACES_H

#include <stddef.h>
#include <stdint.h>

#include "layer.h"

enum { SOFTGPU_VA_MAX_PLANES = 2 };

struct softgpu_va_surface;

/* One plane of a surface, as an OpenCL image over its memory. */
struct softgpu_va_plane {
    void *base;
    size_t width, height, pitch;
    cl_image_format format;
};

/* Says that surface `id` of `display` is this memory. Plane p begins `offset[p]` bytes after
 * `base`, its rows `pitch[p]` bytes after one another. `fourcc` is one of VA_FOURCC_NV12 and
 * VA_FOURCC_P010. The memory must stay until softgpu_va_surface_alive says that it may go.
 * Returns the surface's number, which is positive and never used again, or -EINVAL, -EEXIST,
 * -ENOMEM. */
SOFTGPU_EXPORT int64_t softgpu_va_register_surface(const void *display, unsigned int id,
                                                   uint32_t fourcc, void *base,
                                                   unsigned int width, unsigned int height,
                                                   const size_t pitch[SOFTGPU_VA_MAX_PLANES],
                                                   const ptrdiff_t offset[SOFTGPU_VA_MAX_PLANES]);

/* Forgets a surface: no new images can be made of it. As with a VA-API driver, those that there
 * are keep its memory. Returns 0 or -ENOENT. */
SOFTGPU_EXPORT int softgpu_va_unregister_surface(const void *display, unsigned int id);

/* 1 while the surface of this number is registered or images of it live, else 0. */
SOFTGPU_EXPORT int softgpu_va_surface_alive(int64_t number);

/* How many images of the surface of this number live. */
SOFTGPU_EXPORT unsigned int softgpu_va_live_images(int64_t number);

/* Finds a plane of a registered surface, for an image that lives until softgpu_va_put. NULL if
 * there is no such surface or plane. */
struct softgpu_va_surface *softgpu_va_get(const void *display, unsigned int id, cl_uint plane,
                                          struct softgpu_va_plane *result);
void softgpu_va_put(struct softgpu_va_surface *surface);

#endif
