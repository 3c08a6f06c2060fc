/* SPDX-License-Identifier: Apache-2.0 */
/* The libva of the process. A program that has a VADisplay has loaded it. */
#ifndef SOFTGPU_VA_LIBRARY_H
#define SOFTGPU_VA_LIBRARY_H

#include <stdint.h>

struct softgpu_va_library {
    int (*sync_surface)(void *display, unsigned int surface);
    int (*export_surface_handle)(void *display, unsigned int surface, uint32_t memory_type,
                                 uint32_t flags, void *descriptor);
};

/* Gives libva's functions, or NULL where it is missing or older than 2.1. */
const struct softgpu_va_library *softgpu_va_library(void);

#endif
