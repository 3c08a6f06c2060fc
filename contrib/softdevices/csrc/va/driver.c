/* SPDX-License-Identifier: Apache-2.0 */
/* The entry point of a software VA-API driver, for tests: its surfaces are real DMA-BUFs where the
 * kernel makes such, and can be shared, mapped and copied as those of hardware. Of codecs it decodes
 * baseline JPEG.
 *
 * libva looks for __vaDriverInit_1_N from its own minor version down, and the tables have only
 * grown, so that the oldest name serves all of VA-API 1. */
#include "buffers.h"
#include "configs.h"
#include "display.h"
#include "formats.h"
#include "images.h"
#include "pictures.h"
#include "surfaces.h"
#include "unsupported.h"
#include "video_processing.h"

static VAStatus terminate(VADriverContextP context)
{
    softva_display_close(context->pDriverData);
    context->pDriverData = NULL;
    return VA_STATUS_SUCCESS;
}

static void fill_objects(struct VADriverVTable *table)
{
    table->vaQueryConfigProfiles = softva_query_config_profiles;
    table->vaQueryConfigEntrypoints = softva_query_config_entrypoints;
    table->vaGetConfigAttributes = softva_get_config_attributes;
    table->vaCreateConfig = softva_create_config;
    table->vaDestroyConfig = softva_destroy_config;
    table->vaQueryConfigAttributes = softva_query_config_attributes;
    table->vaCreateContext = softva_create_context;
    table->vaDestroyContext = softva_destroy_context;
    table->vaCreateBuffer = softva_create_buffer;
    table->vaBufferSetNumElements = softva_buffer_set_num_elements;
    table->vaMapBuffer = softva_map_buffer;
    table->vaUnmapBuffer = softva_unmap_buffer;
    table->vaDestroyBuffer = softva_destroy_buffer;
    table->vaBufferInfo = softva_buffer_info;
    table->vaSyncBuffer = softva_sync_buffer;
    table->vaAcquireBufferHandle = softva_acquire_buffer_handle;
    table->vaReleaseBufferHandle = softva_release_buffer_handle;
}

static void fill_pictures(struct VADriverVTable *table)
{
    table->vaCreateSurfaces = softva_create_surfaces;
    table->vaCreateSurfaces2 = softva_create_surfaces2;
    table->vaDestroySurfaces = softva_destroy_surfaces;
    table->vaQuerySurfaceAttributes = softva_query_surface_attributes;
    table->vaSyncSurface = softva_sync_surface;
    table->vaSyncSurface2 = softva_sync_surface2;
    table->vaQuerySurfaceStatus = softva_query_surface_status;
    table->vaQuerySurfaceError = softva_query_surface_error;
    table->vaExportSurfaceHandle = softva_export_surface_handle;
    table->vaQueryImageFormats = softva_query_image_formats;
    table->vaCreateImage = softva_create_image;
    table->vaDeriveImage = softva_derive_image;
    table->vaDestroyImage = softva_destroy_image;
    table->vaGetImage = softva_get_image;
    table->vaPutImage = softva_put_image;
    table->vaBeginPicture = softva_begin_picture;
    table->vaRenderPicture = softva_render_picture;
    table->vaEndPicture = softva_end_picture;
}

static void fill_processing(struct VADriverVTableVPP *table)
{
    table->version = VA_DRIVER_VTABLE_VPP_VERSION;
    table->vaQueryVideoProcFilters = softva_query_video_proc_filters;
    table->vaQueryVideoProcFilterCaps = softva_query_video_proc_filter_caps;
    table->vaQueryVideoProcPipelineCaps = softva_query_video_proc_pipeline_caps;
}

SOFTVA_EXPORT VAStatus __vaDriverInit_1_0(VADriverContextP context);

SOFTVA_EXPORT VAStatus __vaDriverInit_1_0(VADriverContextP context)
{
    VAStatus status = softva_display_open(context);

    if (status != VA_STATUS_SUCCESS)
        return status;
    context->version_major = VA_MAJOR_VERSION;
    context->version_minor = VA_MINOR_VERSION;
    context->str_vendor = "samebytes software VA-API driver, for tests";
    context->max_profiles = 2;
    context->max_entrypoints = 1;
    context->max_attributes = 1;
    context->max_image_formats = (int)softva_format_count;
    /* libva wants more than zero even of what there is not. */
    context->max_subpic_formats = 1;
    context->max_display_attributes = 1;
    context->vtable->vaTerminate = terminate;
    fill_objects(context->vtable);
    fill_pictures(context->vtable);
    softva_fill_unsupported(context->vtable);
    if (context->vtable_vpp)
        fill_processing(context->vtable_vpp);
    return VA_STATUS_SUCCESS;
}
