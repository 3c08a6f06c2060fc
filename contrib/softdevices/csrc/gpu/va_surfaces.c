/* SPDX-License-Identifier: Apache-2.0 */
#include "va_surfaces.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "trace.h"

/* What the planes of a format look like to OpenCL: the second plane holds pairs of chroma values
 * at half the width and height. */
struct surface_format {
    uint32_t fourcc;
    cl_channel_type channel_type;
    size_t bytes;
};

/* The values of VA_FOURCC_NV12 and VA_FOURCC_P010 in va/va.h: four letters, the first lowest. */
static const struct surface_format formats[] = {
    {'N' | 'V' << 8 | '1' << 16 | (uint32_t)'2' << 24, CL_UNORM_INT8, 1},
    {'P' | '0' << 8 | '1' << 16 | (uint32_t)'0' << 24, CL_UNORM_INT16, 2},
};

struct softgpu_va_surface {
    int64_t number;
    bool registered;
    const void *display;
    unsigned int id;
    unsigned int images;
    struct softgpu_va_plane planes[SOFTGPU_VA_MAX_PLANES];
    struct softgpu_va_surface *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct softgpu_va_surface *surfaces;
static int64_t last_number;

static const struct surface_format *find_format(uint32_t fourcc)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].fourcc == fourcc)
            return &formats[i];
    return NULL;
}

/* These are to be called with the lock held. */

static struct softgpu_va_surface *find(const void *display, unsigned int id)
{
    struct softgpu_va_surface *surface = surfaces;

    while (surface && (!surface->registered || surface->display != display || surface->id != id))
        surface = surface->next;
    return surface;
}

static struct softgpu_va_surface *find_number(int64_t number)
{
    struct softgpu_va_surface *surface = surfaces;

    while (surface && surface->number != number)
        surface = surface->next;
    return surface;
}

/* Takes a surface out of the list if nobody needs it any more. */
static void drop_if_unused(struct softgpu_va_surface *surface)
{
    struct softgpu_va_surface **link = &surfaces;

    if (surface->registered || surface->images)
        return;
    while (*link != surface)
        link = &(*link)->next;
    *link = surface->next;
    free(surface);
}

static bool fill_planes(struct softgpu_va_surface *surface, const struct surface_format *format,
                        void *base, unsigned int width, unsigned int height, const size_t *pitch,
                        const ptrdiff_t *offset)
{
    for (unsigned int p = 0; p < SOFTGPU_VA_MAX_PLANES; p++) {
        struct softgpu_va_plane *plane = &surface->planes[p];

        plane->base = (char *)base + offset[p];
        plane->width = p ? ((size_t)width + 1) / 2 : width;
        plane->height = p ? ((size_t)height + 1) / 2 : height;
        plane->pitch = pitch[p];
        plane->format.image_channel_order = p ? CL_RG : CL_R;
        plane->format.image_channel_data_type = format->channel_type;
        if (plane->pitch < plane->width * format->bytes * (p + 1))
            return false;
    }
    return true;
}

int64_t softgpu_va_register_surface(const void *display, unsigned int id, uint32_t fourcc,
                                    void *base, unsigned int width, unsigned int height,
                                    const size_t pitch[SOFTGPU_VA_MAX_PLANES],
                                    const ptrdiff_t offset[SOFTGPU_VA_MAX_PLANES])
{
    const struct surface_format *format = find_format(fourcc);
    struct softgpu_va_surface *surface;
    int64_t result = -EEXIST;

    if (!display || !format || !base || !width || !height || !pitch || !offset)
        return -EINVAL;
    surface = calloc(1, sizeof *surface);
    if (!surface)
        return -ENOMEM;
    if (!fill_planes(surface, format, base, width, height, pitch, offset)) {
        free(surface);
        return -EINVAL;
    }
    surface->display = display;
    surface->id = id;
    surface->registered = true;
    pthread_mutex_lock(&lock);
    if (!find(display, id)) {
        result = surface->number = ++last_number;
        surface->next = surfaces;
        surfaces = surface;
    }
    pthread_mutex_unlock(&lock);
    if (result < 0)
        free(surface);
    softgpu_trace("VA surface %u of display %p registered: %lld", id, display, (long long)result);
    return result;
}

int softgpu_va_unregister_surface(const void *display, unsigned int id)
{
    struct softgpu_va_surface *surface;

    pthread_mutex_lock(&lock);
    surface = find(display, id);
    if (surface) {
        surface->registered = false;
        drop_if_unused(surface);
    }
    pthread_mutex_unlock(&lock);
    softgpu_trace("VA surface %u of display %p unregistered", id, display);
    return surface ? 0 : -ENOENT;
}

int softgpu_va_surface_alive(int64_t number)
{
    bool alive;

    pthread_mutex_lock(&lock);
    alive = find_number(number) != NULL;
    pthread_mutex_unlock(&lock);
    return alive;
}

unsigned int softgpu_va_live_images(int64_t number)
{
    struct softgpu_va_surface *surface;
    unsigned int images;

    pthread_mutex_lock(&lock);
    surface = find_number(number);
    images = surface ? surface->images : 0;
    pthread_mutex_unlock(&lock);
    return images;
}

struct softgpu_va_surface *softgpu_va_get(const void *display, unsigned int id, cl_uint plane,
                                          struct softgpu_va_plane *result)
{
    struct softgpu_va_surface *surface;

    if (plane >= SOFTGPU_VA_MAX_PLANES)
        return NULL;
    pthread_mutex_lock(&lock);
    surface = find(display, id);
    if (surface) {
        surface->images++;
        *result = surface->planes[plane];
    }
    pthread_mutex_unlock(&lock);
    return surface;
}

void softgpu_va_put(struct softgpu_va_surface *surface)
{
    pthread_mutex_lock(&lock);
    surface->images--;
    drop_if_unused(surface);
    pthread_mutex_unlock(&lock);
}
