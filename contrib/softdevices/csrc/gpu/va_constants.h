/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of cl_intel_va_api_media_sharing, from its specification. The header that has them,
 * CL/cl_va_api_media_sharing_intel.h, includes those of libva, which nothing here needs. */
#ifndef SOFTGPU_VA_CONSTANTS_H
#define SOFTGPU_VA_CONSTANTS_H

enum {
    CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL = -1098,
    CL_INVALID_VA_API_MEDIA_SURFACE_INTEL = -1099,
    CL_VA_API_MEDIA_SURFACE_ALREADY_ACQUIRED_INTEL = -1100,
    CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL = -1101,

    CL_VA_API_DISPLAY_INTEL = 0x4094,
    CL_PREFERRED_DEVICES_FOR_VA_API_INTEL = 0x4095,
    CL_ALL_DEVICES_FOR_VA_API_INTEL = 0x4096,
    CL_CONTEXT_VA_API_DISPLAY_INTEL = 0x4097,
    CL_MEM_VA_API_MEDIA_SURFACE_INTEL = 0x4098,
    CL_IMAGE_VA_API_PLANE_INTEL = 0x4099,
};

#endif
