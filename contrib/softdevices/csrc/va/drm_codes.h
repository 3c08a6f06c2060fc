/* SPDX-License-Identifier: Apache-2.0 */
/* Codes of the kernel's drm_fourcc.h, which only libdrm's development package ships. */
#ifndef SOFTVA_DRM_CODES_H
#define SOFTVA_DRM_CODES_H

#include <stdint.h>

/* fourcc_code: four letters, the first in the lowest byte. VA-API's codes are made the same way. */
#define SOFTVA_CODE(a, b, c, d) \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* Formats of single planes. */
#define SOFTVA_DRM_R8 SOFTVA_CODE('R', '8', ' ', ' ')
#define SOFTVA_DRM_GR88 SOFTVA_CODE('G', 'R', '8', '8')
#define SOFTVA_DRM_R16 SOFTVA_CODE('R', '1', '6', ' ')
#define SOFTVA_DRM_GR1616 SOFTVA_CODE('G', 'R', '3', '2')

/* DRM_FORMAT_MOD_LINEAR; DRM_FORMAT_MOD_INVALID, which leaves the layout to the driver; and
 * I915_FORMAT_MOD_Y_TILED. */
#define SOFTVA_MODIFIER_LINEAR UINT64_C(0)
#define SOFTVA_MODIFIER_INVALID UINT64_C(0x00ffffffffffffff)
#define SOFTVA_MODIFIER_Y_TILED UINT64_C(0x0100000000000002)

#endif
