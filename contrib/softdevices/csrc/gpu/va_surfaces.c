/* SPDX-License-Identifier: Apache-2.0 */
#include "va_surfaces.h"

#include <sys/mman.h>
#include <unistd.h>

#include "mapping.h"
#include "trace.h"
#include "va_abi.h"
#include "va_constants.h"
#include "va_library.h"

#define CODE(a, b, c, d) \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* What the planes of a format look like to OpenCL, by the format's VA_FOURCC_*: these are the ones
 * that Intel's driver takes without further ado. */
struct surface_format {
    uint32_t fourcc;
    cl_channel_type channel_type;
    size_t bytes;
    bool has_chroma; /* a second plane of pairs of values, at half the width and height */
};

static const struct surface_format formats[] = {
    {CODE('N', 'V', '1', '2'), CL_UNORM_INT8, 1, true},
    {CODE('P', '0', '1', '0'), CL_UNORM_INT16, 2, true},
    {CODE('P', '0', '1', '6'), CL_UNORM_INT16, 2, true},
    {CODE('R', 'G', 'B', 'P'), CL_UNORM_INT8, 1, false},
};

/* DRM_FORMAT_MOD_LINEAR, and DRM_FORMAT_MOD_INVALID, which says nothing (drm_fourcc.h). */
static bool may_be_linear(uint64_t modifier)
{
    return modifier == 0 || modifier == UINT64_C(0x00ffffffffffffff);
}

static const struct surface_format *find_format(uint32_t fourcc)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].fourcc == fourcc)
            return &formats[i];
    return NULL;
}

/* Maps plane number `plane` of an exported surface, which is in its own layer. */
static cl_int map_plane(const struct softgpu_va_descriptor *from, cl_uint plane,
                        struct softgpu_va_plane *result)
{
    const struct surface_format *format = find_format(from->fourcc);
    bool chroma = format && format->has_chroma && plane;
    uint32_t object, offset;
    cl_int error = CL_SUCCESS;

    if (!format) {
        softgpu_trace("the format %.4s has no images", (const char *)&from->fourcc);
        return CL_IMAGE_FORMAT_NOT_SUPPORTED;
    }
    if (plane >= from->num_layers || from->layers[plane].num_planes != 1 ||
        from->layers[plane].object_index[0] >= from->num_objects)
        return CL_INVALID_VA_API_MEDIA_SURFACE_INTEL;
    object = from->layers[plane].object_index[0];
    offset = from->layers[plane].offset[0];
    if (!may_be_linear(from->objects[object].drm_format_modifier)) {
        softgpu_trace("the surface is tiled (modifier 0x%llx), which the CPU cannot read",
                      (unsigned long long)from->objects[object].drm_format_modifier);
        return CL_IMAGE_FORMAT_NOT_SUPPORTED;
    }
    result->width = chroma ? ((size_t)from->width + 1) / 2 : from->width;
    result->height = chroma ? ((size_t)from->height + 1) / 2 : from->height;
    result->pitch = from->layers[plane].pitch[0];
    result->format.image_channel_order = chroma ? CL_RG : CL_R;
    result->format.image_channel_data_type = format->channel_type;
    result->mapping_size = offset + result->pitch * result->height;
    /* What follows the pixels of the last row may not be there. */
    if (result->mapping_size > from->objects[object].size)
        result->mapping_size -= result->pitch - result->width * format->bytes * (chroma ? 2 : 1);
    result->mapping = softgpu_map_fd(from->objects[object].fd, result->mapping_size, &error);
    if (!result->mapping)
        return error;
    result->base = (char *)result->mapping + offset;
    return CL_SUCCESS;
}

cl_int softgpu_va_map(void *display, unsigned int id, cl_uint plane,
                      struct softgpu_va_plane *result)
{
    const struct softgpu_va_library *libva = softgpu_va_library();
    struct softgpu_va_descriptor descriptor = {0};
    int status;
    cl_int error;

    if (!display || !libva)
        return CL_INVALID_VA_API_MEDIA_SURFACE_INTEL;
    status = libva->export_surface_handle(
        display, id, SOFTGPU_VA_MEM_TYPE_DRM_PRIME_2,
        SOFTGPU_VA_EXPORT_SURFACE_READ_WRITE | SOFTGPU_VA_EXPORT_SURFACE_SEPARATE_LAYERS,
        &descriptor);
    if (status != SOFTGPU_VA_STATUS_SUCCESS) {
        softgpu_trace("VA surface %u cannot be exported: %d", id, status);
        return CL_INVALID_VA_API_MEDIA_SURFACE_INTEL;
    }
    error = map_plane(&descriptor, plane, result);
    for (uint32_t i = 0; i < descriptor.num_objects; i++)
        close(descriptor.objects[i].fd);
    return error;
}

bool softgpu_va_wait(void *display, unsigned int id)
{
    const struct softgpu_va_library *libva = softgpu_va_library();
    int status = libva ? libva->sync_surface(display, id) : -1;

    softgpu_trace("wait for VA surface %u: %d", id, status);
    return status == SOFTGPU_VA_STATUS_SUCCESS;
}
