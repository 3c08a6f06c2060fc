/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <va/va_drmcommon.h>

#include "configs.h"
#include "surfaces.h"

static VASurfaceAttrib whole_number(VASurfaceAttribType type, uint32_t flags, int32_t value)
{
    return (VASurfaceAttrib){
        .type = type,
        .flags = flags,
        .value = {.type = VAGenericValueTypeInteger, .value = {.i = value}},
    };
}

/* What follows the pixel formats in the list. */
static size_t add_rest(VASurfaceAttrib *list)
{
    const uint32_t get = VA_SURFACE_ATTRIB_GETTABLE, set = VA_SURFACE_ATTRIB_SETTABLE;
    const int32_t memory_types = VA_SURFACE_ATTRIB_MEM_TYPE_VA |
                                 VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME |
                                 VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2;
    const VASurfaceAttrib rest[] = {
        whole_number(VASurfaceAttribMinWidth, get, 1),
        whole_number(VASurfaceAttribMaxWidth, get, SOFTVA_MAX_SIZE),
        whole_number(VASurfaceAttribMinHeight, get, 1),
        whole_number(VASurfaceAttribMaxHeight, get, SOFTVA_MAX_SIZE),
        whole_number(VASurfaceAttribMemoryType, get | set, memory_types),
        whole_number(VASurfaceAttribUsageHint, set, VA_SURFACE_ATTRIB_USAGE_HINT_GENERIC),
        {.type = VASurfaceAttribExternalBufferDescriptor,
         .flags = set,
         .value = {.type = VAGenericValueTypePointer}},
        {.type = VASurfaceAttribDRMFormatModifiers,
         .flags = set,
         .value = {.type = VAGenericValueTypePointer}},
    };
    const size_t count = sizeof rest / sizeof *rest;

    for (size_t i = 0; list && i < count; i++)
        list[i] = rest[i];
    return count;
}

static VAStatus list_attributes(const struct softva_display *display, VAConfigID config,
                                VASurfaceAttrib *list, unsigned int *count)
{
    const struct softva_config *found = softva_table_find(&display->table, config, SOFTVA_CONFIG);
    size_t formats;
    unsigned int room, needed;

    if (!found)
        return VA_STATUS_ERROR_INVALID_CONFIG;
    if (!count)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    /* Pictures are decoded into the first one, NV12. */
    formats = found->decodes ? 1 : softva_format_count;
    needed = (unsigned int)(formats + add_rest(NULL));
    room = *count;
    *count = needed;
    if (!list)
        return VA_STATUS_SUCCESS;
    if (room < needed)
        return VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
    for (size_t i = 0; i < formats; i++)
        list[i] = whole_number(VASurfaceAttribPixelFormat,
                               VA_SURFACE_ATTRIB_GETTABLE | VA_SURFACE_ATTRIB_SETTABLE,
                               (int32_t)softva_formats[i].fourcc);
    add_rest(list + formats);
    return VA_STATUS_SUCCESS;
}

VAStatus softva_query_surface_attributes(VADriverContextP context, VAConfigID config,
                                         VASurfaceAttrib *attributes, unsigned int *count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaQuerySurfaceAttributes");

    if (status == VA_STATUS_SUCCESS)
        status = list_attributes(call.display, config, attributes, count);
    return softva_end(&call, status);
}

/* Everything is done when a call returns, so that there is nothing to wait for. */
static VAStatus wait_for(const struct softva_display *display, VASurfaceID surface)
{
    softva_trace(display, "surface %u", surface);
    return softva_table_find(&display->table, surface, SOFTVA_SURFACE)
               ? VA_STATUS_SUCCESS
               : VA_STATUS_ERROR_INVALID_SURFACE;
}

VAStatus softva_sync_surface(VADriverContextP context, VASurfaceID surface)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaSyncSurface");

    if (status == VA_STATUS_SUCCESS)
        status = wait_for(call.display, surface);
    return softva_end(&call, status);
}

VAStatus softva_sync_surface2(VADriverContextP context, VASurfaceID surface, uint64_t timeout)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaSyncSurface2");

    (void)timeout;
    if (status == VA_STATUS_SUCCESS)
        status = wait_for(call.display, surface);
    return softva_end(&call, status);
}

VAStatus softva_query_surface_status(VADriverContextP context, VASurfaceID surface,
                                     VASurfaceStatus *status)
{
    struct softva_call call;
    VAStatus result = softva_begin(&call, context, "vaQuerySurfaceStatus");

    if (result == VA_STATUS_SUCCESS)
        result = wait_for(call.display, surface);
    if (result == VA_STATUS_SUCCESS)
        *status = VASurfaceReady;
    return softva_end(&call, result);
}

VAStatus softva_query_surface_error(VADriverContextP context, VASurfaceID surface, VAStatus error,
                                    void **information)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaQuerySurfaceError");

    (void)surface;
    (void)error;
    (void)information;
    return softva_end(&call, status == VA_STATUS_SUCCESS ? VA_STATUS_ERROR_UNIMPLEMENTED : status);
}
