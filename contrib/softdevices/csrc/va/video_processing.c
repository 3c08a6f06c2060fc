/* SPDX-License-Identifier: Apache-2.0 */
#include "video_processing.h"

#include <linux/dma-buf.h>
#include <string.h>

#include "conversion.h"

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

/* What the numbers of a surface mean, as a program says it; BT.601 of limited range where it does not. */
static bool colors_of(VAProcColorStandardType standard, const VAProcColorProperties *properties,
                      struct softva_colors *colors)
{
    colors->full = properties->color_range == VA_SOURCE_RANGE_FULL;
    switch (standard) {
    case VAProcColorStandardNone:
    case VAProcColorStandardBT601:
    case VAProcColorStandardSRGB:
        colors->kr = 0.299;
        colors->kb = 0.114;
        return true;
    case VAProcColorStandardBT709:
        colors->kr = 0.2126;
        colors->kb = 0.0722;
        return true;
    case VAProcColorStandardBT2020:
        colors->kr = 0.2627;
        colors->kb = 0.0593;
        return true;
    default:
        return false;
    }
}

/* Copies or converts; both surfaces are locked. */
static void fill(const struct softva_picture *to_picture, const struct softva_area *to,
                 const struct softva_colors *to_colors, const struct softva_picture *from_picture,
                 const struct softva_area *from, const struct softva_colors *from_colors,
                 bool nearest)
{
    bool same_size = to->width == from->width && to->height == from->height;
    bool same_colors = from_colors->kr == to_colors->kr && from_colors->full == to_colors->full;

    if (softva_same_planes(from_picture->format, to_picture->format) &&
        ((same_size && same_colors) || !softva_can_convert(to_picture->format)))
        softva_copy(to_picture, to, from_picture, from);
    else
        softva_convert(to_picture, to, to_colors, from_picture, from, from_colors, nearest);
}

VAStatus softva_process(const struct softva_display *display, const struct softva_buffer *buffer,
                        struct softva_surface *target)
{
    const VAProcPipelineParameterBuffer *parameters = buffer->bytes;
    struct softva_picture from_picture, to_picture;
    struct softva_colors from_colors, to_colors;
    struct softva_surface *source;
    struct softva_area from, to;
    bool nearest;

    if (buffer->type != VAProcPipelineParameterBufferType ||
        buffer->element_size < sizeof *parameters)
        return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    source = softva_table_find(&display->table, parameters->surface, SOFTVA_SURFACE);
    if (!source)
        return VA_STATUS_ERROR_INVALID_SURFACE;
    if (parameters->num_filters)
        return VA_STATUS_ERROR_UNSUPPORTED_FILTER;
    if (source == target || parameters->rotation_state || parameters->mirror_state)
        return VA_STATUS_ERROR_UNIMPLEMENTED;
    if (!softva_same_planes(source->format, target->format) &&
        (!softva_can_convert(source->format) ||
         !softva_can_convert(target->format)))
        return VA_STATUS_ERROR_UNIMPLEMENTED;
    if (!colors_of(parameters->surface_color_standard, &parameters->input_color_properties,
                   &from_colors) ||
        !colors_of(parameters->output_color_standard, &parameters->output_color_properties,
                   &to_colors))
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (!area_of(parameters->surface_region, source, &from) ||
        !area_of(parameters->output_region, target, &to))
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    nearest = (parameters->filter_flags & VA_FILTER_INTERPOLATION_MASK) ==
              VA_FILTER_INTERPOLATION_NEAREST_NEIGHBOR;
    from_picture = softva_surface_picture(source);
    to_picture = softva_surface_picture(target);
    softva_surface_begin(source, DMA_BUF_SYNC_READ);
    softva_surface_begin(target, DMA_BUF_SYNC_WRITE);
    fill(&to_picture, &to, &to_colors, &from_picture, &from, &from_colors, nearest);
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
        VAProcColorStandardBT601, VAProcColorStandardBT709, VAProcColorStandardBT2020,
        VAProcColorStandardSRGB, VAProcColorStandardNone};
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
