/* SPDX-License-Identifier: Apache-2.0 */
/* Memory objects over memory that came from elsewhere: from a file descriptor or a VA surface. */
#ifndef SOFTGPU_SHARED_MEMORY_H
#define SOFTGPU_SHARED_MEMORY_H

#include <stdatomic.h>

#include "layer.h"

/* One such object. The module that makes it fills the fields; the rest is of shared_memory.c, which
 * takes the mapping away when the last reference to the object went. */
struct softgpu_shared {
    void *mapping;
    size_t mapping_size;

    /* From a file descriptor: the properties that the program gave. */
    cl_mem_properties *properties;
    size_t properties_size;

    /* From a VA surface: its display, its id, the plane, and who holds it now. */
    void *va_display;
    unsigned int surface_id;
    cl_uint plane;
    atomic_bool acquired;
};

/* Ties `shared` (from malloc or calloc) to `object`, which was just made and lies over its memory.
 * Gives the object. If that is impossible, both are given back, and NULL with an error. */
cl_mem softgpu_share(cl_mem object, struct softgpu_shared *shared, cl_int *error);

/* Gives the memory of an object that was never made back. */
void softgpu_unshare(struct softgpu_shared *shared);

/* Gives what is known about `object`, or NULL if its memory is OpenCL's own. */
struct softgpu_shared *softgpu_shared_of(cl_mem object);

/* How many of these objects live. */
SOFTGPU_EXPORT unsigned int softgpu_live_imports(void);

#endif
