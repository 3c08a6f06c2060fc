/* SPDX-License-Identifier: Apache-2.0 */
/* What the layer uses of libva (va/va.h, va/va_drmcommon.h). It is declared here, so that the layer
 * can be built without libva's headers; a test compares both. */
#ifndef SOFTGPU_VA_ABI_H
#define SOFTGPU_VA_ABI_H

#include <stdint.h>

enum {
    SOFTGPU_VA_STATUS_SUCCESS = 0,
    SOFTGPU_VA_EXPORT_SURFACE_READ_WRITE = 3,
    SOFTGPU_VA_EXPORT_SURFACE_SEPARATE_LAYERS = 4,
    SOFTGPU_VA_MEM_TYPE_DRM_PRIME_2 = 0x40000000,
    SOFTGPU_VA_MAX_PARTS = 4,
};

/* VADRMPRIMESurfaceDescriptor */
struct softgpu_va_descriptor {
    uint32_t fourcc;
    uint32_t width, height;
    uint32_t num_objects;
    struct {
        int fd;
        uint32_t size;
        uint64_t drm_format_modifier;
    } objects[SOFTGPU_VA_MAX_PARTS];
    uint32_t num_layers;
    struct {
        uint32_t drm_format;
        uint32_t num_planes;
        uint32_t object_index[SOFTGPU_VA_MAX_PARTS];
        uint32_t offset[SOFTGPU_VA_MAX_PARTS];
        uint32_t pitch[SOFTGPU_VA_MAX_PARTS];
    } layers[SOFTGPU_VA_MAX_PARTS];
};

#endif
