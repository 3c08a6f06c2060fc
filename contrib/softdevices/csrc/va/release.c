/* SPDX-License-Identifier: Apache-2.0 */
#include "release.h"

#include <stdlib.h>

#include "buffers.h"
#include "configs.h"
#include "surfaces.h"

static void release(struct softva_object *object)
{
    switch (object->kind) {
    case SOFTVA_SURFACE:
        softva_surface_free((struct softva_surface *)object);
        break;
    case SOFTVA_BUFFER:
        softva_buffer_free((struct softva_buffer *)object);
        break;
    case SOFTVA_CONTEXT:
        softva_context_free((struct softva_context *)object);
        break;
    case SOFTVA_CONFIG:
    case SOFTVA_IMAGE:
        free(object);
        break;
    }
}

void softva_release_all(struct softva_display *display)
{
    for (size_t i = 0; i < display->table.count; i++)
        release(display->table.objects[i]);
    display->table.count = 0;
}
