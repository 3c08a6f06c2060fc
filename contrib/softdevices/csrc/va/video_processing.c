/* SPDX-License-Identifier: Apache-2.0 */
#include "video_processing.h"

#include <linux/dma-buf.h>
#include <string.h>

#include "buffers.h"
#include "configs.h"
#include "surfaces.h"

VAStatus softva_begin_picture(VADriverContextP context, VAContextID id, VASurfaceID target)
{
    struct softva_call call;
    struct softva_context *picture = NULL;
    VAStatus status = softva_begin(&call, context, "vaBeginPicture");

    if (status == VA_STATUS_SUCCESS) {
        picture = softva_table_find(&call.display->table, id, SOFTVA_CONTEXT);
        if (!picture)
            status = VA_STATUS_ERROR_INVALID_CONTEXT;
        else if (!softva_table_find(&call.display->table, target, SOFTVA_SURFACE))
            status = VA_STATUS_ERROR_INVALID_SURFACE;
    }
    if (status == VA_STATUS_SUCCESS) {
        picture->target = target;
        picture->begun = true;
    }
    return softva_end(&call, status);
}

/* The area that a program names, or all of the surface. */
static bool area_of(const VARectangle *rectangle, const struct softva_surface *surface,
                    struct softva_area *area)
{
    *area = (struct softva_area){0, 0, surface->width, surface->height};
    if (!rectangle)
        return true;
    if (rectangle->x < 0 || rectangle->y < 0)
        return false;
    *area = (struct softva_area){(uint32_t)rectangle->x, (uint32_t)rectangle->y,
                                 rectangle->width, rectangle->height};
    return softva_area_is_within(area, surface->width, surface->height);
}

static VAStatus process(const struct softva_display *display,
                        const VAProcPipelineParameterBuffer *parameters,
                        struct softva_surface *target)
{
    struct softva_surface *source =
        softva_table_find(&display->table, parameters->surface, SOFTVA_SURFACE);
    struct softva_picture from_picture, to_picture;
    struct softva_area from, to;

    if (!source)
        return VA_STATUS_ERROR_INVALID_SURFACE;
    if (parameters->num_filters)
        return VA_STATUS_ERROR_UNSUPPORTED_FILTER;
    if (!softva_same_planes(source->format, target->format) || parameters->rotation_state ||
        parameters->mirror_state)
        return VA_STATUS_ERROR_UNIMPLEMENTED;
    if (!area_of(parameters->surface_region, source, &from) ||
        !area_of(parameters->output_region, target, &to))
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    from_picture = softva_surface_picture(source);
    to_picture = softva_surface_picture(target);
    softva_surface_begin(source, DMA_BUF_SYNC_READ);
    softva_surface_begin(target, DMA_BUF_SYNC_WRITE);
    softva_copy(&to_picture, &to, &from_picture, &from);
    softva_surface_end(target, DMA_BUF_SYNC_WRITE);
    softva_surface_end(source, DMA_BUF_SYNC_READ);
    return VA_STATUS_SUCCESS;
}

static VAStatus render(const struct softva_display *display, VAContextID id,
                       const VABufferID *buffers, int count)
{
    const struct softva_context *picture =
        softva_table_find(&display->table, id, SOFTVA_CONTEXT);
    struct softva_surface *target;
    VAStatus status = VA_STATUS_SUCCESS;

    if (!picture || !picture->begun)
        return VA_STATUS_ERROR_INVALID_CONTEXT;
    target = softva_table_find(&display->table, picture->target, SOFTVA_SURFACE);
    if (!target)
        return VA_STATUS_ERROR_INVALID_SURFACE;
    for (int i = 0; status == VA_STATUS_SUCCESS && i < count; i++) {
        const struct softva_buffer *buffer =
            softva_table_find(&display->table, buffers[i], SOFTVA_BUFFER);

        if (!buffer)
            return VA_STATUS_ERROR_INVALID_BUFFER;
        if (buffer->type != VAProcPipelineParameterBufferType ||
            buffer->element_size < sizeof(VAProcPipelineParameterBuffer))
            return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
        status = process(display, buffer->bytes, target);
    }
    return status;
}

VAStatus softva_render_picture(VADriverContextP context, VAContextID id, VABufferID *buffers,
                               int count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaRenderPicture");

    if (status == VA_STATUS_SUCCESS)
        status = render(call.display, id, buffers, count);
    return softva_end(&call, status);
}

VAStatus softva_end_picture(VADriverContextP context, VAContextID id)
{
    struct softva_call call;
    struct softva_context *picture = NULL;
    VAStatus status = softva_begin(&call, context, "vaEndPicture");

    if (status == VA_STATUS_SUCCESS)
        picture = softva_table_find(&call.display->table, id, SOFTVA_CONTEXT);
    if (picture && picture->begun)
        picture->begun = false;
    else if (status == VA_STATUS_SUCCESS)
        status = VA_STATUS_ERROR_INVALID_CONTEXT;
    return softva_end(&call, status);
}

VAStatus softva_query_video_proc_filters(VADriverContextP context, VAContextID id,
                                         VAProcFilterType *filters, unsigned int *count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaQueryVideoProcFilters");

    (void)id;
    (void)filters;
    if (status == VA_STATUS_SUCCESS)
        *count = 0;
    return softva_end(&call, status);
}

VAStatus softva_query_video_proc_filter_caps(VADriverContextP context, VAContextID id,
                                             VAProcFilterType type, void *caps,
                                             unsigned int *count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaQueryVideoProcFilterCaps");

    (void)id;
    (void)type;
    (void)caps;
    if (status == VA_STATUS_SUCCESS) {
        *count = 0;
        status = VA_STATUS_ERROR_UNSUPPORTED_FILTER;
    }
    return softva_end(&call, status);
}

VAStatus softva_query_video_proc_pipeline_caps(VADriverContextP context, VAContextID id,
                                               VABufferID *filters, unsigned int count,
                                               VAProcPipelineCaps *caps)
{
    static VAProcColorStandardType standards[] = {
        VAProcColorStandardBT601, VAProcColorStandardBT709, VAProcColorStandardNone};
    const uint32_t standard_count = sizeof standards / sizeof *standards;
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaQueryVideoProcPipelineCaps");

    (void)id;
    (void)filters;
    if (status == VA_STATUS_SUCCESS && count)
        status = VA_STATUS_ERROR_UNSUPPORTED_FILTER;
    if (status == VA_STATUS_SUCCESS) {
        memset(caps, 0, sizeof *caps);
        caps->input_color_standards = caps->output_color_standards = standards;
        caps->num_input_color_standards = caps->num_output_color_standards = standard_count;
        caps->max_input_width = caps->max_output_width = SOFTVA_MAX_SIZE;
        caps->max_input_height = caps->max_output_height = SOFTVA_MAX_SIZE;
        caps->min_input_width = caps->min_output_width = 1;
        caps->min_input_height = caps->min_output_height = 1;
    }
    return softva_end(&call, status);
}
