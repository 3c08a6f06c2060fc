/* SPDX-License-Identifier: Apache-2.0 */
#include "video_processing.h"

#include <linux/dma-buf.h>
#include <string.h>

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

VAStatus softva_process(const struct softva_display *display, const struct softva_buffer *buffer,
                        struct softva_surface *target)
{
    const VAProcPipelineParameterBuffer *parameters = buffer->bytes;
    struct softva_picture from_picture, to_picture;
    struct softva_surface *source;
    struct softva_area from, to;

    if (buffer->type != VAProcPipelineParameterBufferType ||
        buffer->element_size < sizeof *parameters)
        return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    source = softva_table_find(&display->table, parameters->surface, SOFTVA_SURFACE);
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
