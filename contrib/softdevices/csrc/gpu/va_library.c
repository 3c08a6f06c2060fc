/* SPDX-License-Identifier: Apache-2.0 */
#include "va_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#include "trace.h"

static struct softgpu_va_library library;
static pthread_once_t looked_for = PTHREAD_ONCE_INIT;

/* libva stays loaded: images may be acquired as long as the process lives. */
static void look_for_it(void)
{
    void *handle = dlopen("libva.so.2", RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        softgpu_trace("no libva: %s", dlerror());
        return;
    }
    *(void **)&library.sync_surface = dlsym(handle, "vaSyncSurface");
    *(void **)&library.export_surface_handle = dlsym(handle, "vaExportSurfaceHandle");
}

const struct softgpu_va_library *softgpu_va_library(void)
{
    pthread_once(&looked_for, look_for_it);
    return library.sync_surface && library.export_surface_handle ? &library : NULL;
}
