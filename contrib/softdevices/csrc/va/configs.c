/* SPDX-License-Identifier: Apache-2.0 */
#include "configs.h"

#include <stdlib.h>

#include "formats.h"
#include "jpeg_library.h"

uint32_t softva_config_rt_formats(const struct softva_config *config)
{
    return config->decodes ? VA_RT_FORMAT_YUV420 : softva_rt_formats();
}

void softva_context_free(struct softva_context *context)
{
    softva_decoding_reset(&context->scan);
    free(context);
}

/* The one entry point of a profile. */
static VAStatus entrypoint_of(VAProfile profile, VAEntrypoint *entrypoint)
{
    if (profile == VAProfileNone)
        *entrypoint = VAEntrypointVideoProc;
    else if (profile == VAProfileJPEGBaseline && softva_jpeg_available())
        *entrypoint = VAEntrypointVLD;
    else
        return VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
    return VA_STATUS_SUCCESS;
}

VAStatus softva_query_config_profiles(VADriverContextP context, VAProfile *profiles, int *count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaQueryConfigProfiles");

    if (status == VA_STATUS_SUCCESS) {
        *count = 0;
        profiles[(*count)++] = VAProfileNone;
        if (softva_jpeg_available())
            profiles[(*count)++] = VAProfileJPEGBaseline;
    }
    return softva_end(&call, status);
}

VAStatus softva_query_config_entrypoints(VADriverContextP context, VAProfile profile,
                                         VAEntrypoint *entrypoints, int *count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaQueryConfigEntrypoints");

    if (status == VA_STATUS_SUCCESS)
        status = entrypoint_of(profile, entrypoints);
    if (status == VA_STATUS_SUCCESS)
        *count = 1;
    return softva_end(&call, status);
}

static VAStatus check_entrypoint(VAProfile profile, VAEntrypoint entrypoint)
{
    VAEntrypoint known;
    VAStatus status = entrypoint_of(profile, &known);

    if (status == VA_STATUS_SUCCESS && entrypoint != known)
        status = VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT;
    return status;
}

VAStatus softva_get_config_attributes(VADriverContextP context, VAProfile profile,
                                      VAEntrypoint entrypoint, VAConfigAttrib *attributes,
                                      int count)
{
    const struct softva_config config = {.decodes = profile == VAProfileJPEGBaseline};
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaGetConfigAttributes");

    if (status == VA_STATUS_SUCCESS)
        status = check_entrypoint(profile, entrypoint);
    for (int i = 0; status == VA_STATUS_SUCCESS && i < count; i++)
        attributes[i].value = attributes[i].type == VAConfigAttribRTFormat
                                  ? softva_config_rt_formats(&config)
                                  : VA_ATTRIB_NOT_SUPPORTED;
    return softva_end(&call, status);
}

static VAStatus create_config(struct softva_display *display, bool decodes,
                              const VAConfigAttrib *attributes, int count, VAConfigID *id)
{
    const struct softva_config wanted = {.decodes = decodes};
    struct softva_config *config;
    VAStatus status;

    for (int i = 0; i < count; i++)
        if (attributes[i].type == VAConfigAttribRTFormat &&
            !(attributes[i].value & softva_config_rt_formats(&wanted)))
            return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
    config = calloc(1, sizeof *config);
    if (!config)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    config->decodes = decodes;
    status = softva_table_add(&display->table, &config->object, SOFTVA_CONFIG);
    if (status == VA_STATUS_SUCCESS)
        *id = config->object.id;
    else
        free(config);
    return status;
}

VAStatus softva_create_config(VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint,
                              VAConfigAttrib *attributes, int count, VAConfigID *id)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaCreateConfig");

    if (status == VA_STATUS_SUCCESS)
        status = check_entrypoint(profile, entrypoint);
    if (status == VA_STATUS_SUCCESS)
        status = create_config(call.display, profile == VAProfileJPEGBaseline, attributes, count, id);
    return softva_end(&call, status);
}

VAStatus softva_destroy_config(VADriverContextP context, VAConfigID id)
{
    struct softva_call call;
    struct softva_config *config = NULL;
    VAStatus status = softva_begin(&call, context, "vaDestroyConfig");

    if (status == VA_STATUS_SUCCESS) {
        config = softva_table_find(&call.display->table, id, SOFTVA_CONFIG);
        if (!config)
            status = VA_STATUS_ERROR_INVALID_CONFIG;
    }
    if (config) {
        softva_table_remove(&call.display->table, &config->object);
        free(config);
    }
    return softva_end(&call, status);
}

VAStatus softva_query_config_attributes(VADriverContextP context, VAConfigID id,
                                        VAProfile *profile, VAEntrypoint *entrypoint,
                                        VAConfigAttrib *attributes, int *count)
{
    struct softva_call call;
    const struct softva_config *config = NULL;
    VAStatus status = softva_begin(&call, context, "vaQueryConfigAttributes");

    if (status == VA_STATUS_SUCCESS) {
        config = softva_table_find(&call.display->table, id, SOFTVA_CONFIG);
        if (!config)
            status = VA_STATUS_ERROR_INVALID_CONFIG;
    }
    if (status == VA_STATUS_SUCCESS) {
        *profile = config->decodes ? VAProfileJPEGBaseline : VAProfileNone;
        *entrypoint = config->decodes ? VAEntrypointVLD : VAEntrypointVideoProc;
        attributes[0].type = VAConfigAttribRTFormat;
        attributes[0].value = softva_config_rt_formats(config);
        *count = 1;
    }
    return softva_end(&call, status);
}

static VAStatus create_context(struct softva_display *display, VAConfigID config_id,
                               const VASurfaceID *targets, int target_count, VAContextID *id)
{
    const struct softva_config *config =
        softva_table_find(&display->table, config_id, SOFTVA_CONFIG);
    struct softva_context *context;
    VAStatus status;

    if (!config)
        return VA_STATUS_ERROR_INVALID_CONFIG;
    for (int i = 0; targets && i < target_count; i++)
        if (!softva_table_find(&display->table, targets[i], SOFTVA_SURFACE))
            return VA_STATUS_ERROR_INVALID_SURFACE;
    context = calloc(1, sizeof *context);
    if (!context)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    context->decodes = config->decodes;
    status = softva_table_add(&display->table, &context->object, SOFTVA_CONTEXT);
    if (status == VA_STATUS_SUCCESS)
        *id = context->object.id;
    else
        free(context);
    return status;
}

VAStatus softva_create_context(VADriverContextP context, VAConfigID config, int width, int height,
                               int flags, VASurfaceID *targets, int target_count, VAContextID *id)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaCreateContext");

    (void)width;
    (void)height;
    (void)flags;
    if (status == VA_STATUS_SUCCESS)
        status = create_context(call.display, config, targets, target_count, id);
    return softva_end(&call, status);
}

VAStatus softva_destroy_context(VADriverContextP context, VAContextID id)
{
    struct softva_call call;
    struct softva_context *found = NULL;
    VAStatus status = softva_begin(&call, context, "vaDestroyContext");

    if (status == VA_STATUS_SUCCESS) {
        found = softva_table_find(&call.display->table, id, SOFTVA_CONTEXT);
        if (!found)
            status = VA_STATUS_ERROR_INVALID_CONTEXT;
    }
    if (found) {
        softva_table_remove(&call.display->table, &found->object);
        softva_context_free(found);
    }
    return softva_end(&call, status);
}
