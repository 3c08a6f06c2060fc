/* SPDX-License-Identifier: Apache-2.0 */
/* Which extensions the device shows. */
#ifndef SOFTGPU_EXTENSION_STRING_H
#define SOFTGPU_EXTENSION_STRING_H

#include "layer.h"

/* Gives the extension string that the device shows, made of the real one. The caller frees it;
 * NULL if there is no memory. */
char *softgpu_extension_string(const char *real);

/* The same for CL_DEVICE_EXTENSIONS_WITH_VERSION: gives `*count_ret` entries, to be freed. */
cl_name_version *softgpu_extension_versions(const cl_name_version *real, size_t count,
                                            size_t *count_ret);

#endif
