/* SPDX-License-Identifier: Apache-2.0 */
/* What csrc/gpu/va_abi.h declares is what libva's headers declare. It is only compiled. */
#include <stddef.h>
#include <va/va.h>
#include <va/va_drmcommon.h>

#include "../../../csrc/gpu/va_abi.h"

#define SAME(ours, theirs) _Static_assert((ours) == (theirs), #theirs)
#define SAME_PLACE(member) \
    SAME(offsetof(struct softgpu_va_descriptor, member), \
         offsetof(VADRMPRIMESurfaceDescriptor, member))

SAME(sizeof(struct softgpu_va_descriptor), sizeof(VADRMPRIMESurfaceDescriptor));
SAME_PLACE(fourcc);
SAME_PLACE(width);
SAME_PLACE(height);
SAME_PLACE(num_objects);
SAME_PLACE(objects[1].fd);
SAME_PLACE(objects[1].size);
SAME_PLACE(objects[1].drm_format_modifier);
SAME_PLACE(num_layers);
SAME_PLACE(layers[1].drm_format);
SAME_PLACE(layers[1].num_planes);
SAME_PLACE(layers[1].object_index);
SAME_PLACE(layers[1].offset);
SAME_PLACE(layers[1].pitch);
SAME(SOFTGPU_VA_STATUS_SUCCESS, VA_STATUS_SUCCESS);
SAME(SOFTGPU_VA_EXPORT_SURFACE_READ_WRITE, VA_EXPORT_SURFACE_READ_WRITE);
SAME(SOFTGPU_VA_EXPORT_SURFACE_SEPARATE_LAYERS, VA_EXPORT_SURFACE_SEPARATE_LAYERS);
SAME(SOFTGPU_VA_MEM_TYPE_DRM_PRIME_2, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2);
