/* SPDX-License-Identifier: Apache-2.0 */
#include "configs.h"

#include <stdlib.h>

#include "formats.h"

VAStatus softva_query_config_profiles(VADriverContextP context, VAProfile *profiles, int *count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaQueryConfigProfiles");

    if (status == VA_STATUS_SUCCESS) {
        profiles[0] = VAProfileNone;
        *count = 1;
    }
    return softva_end(&call, status);
}

VAStatus softva_query_config_entrypoints(VADriverContextP context, VAProfile profile,
                                         VAEntrypoint *entrypoints, int *count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaQueryConfigEntrypoints");

    if (status == VA_STATUS_SUCCESS && profile != VAProfileNone)
        status = VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
    if (status == VA_STATUS_SUCCESS) {
        entrypoints[0] = VAEntrypointVideoProc;
        *count = 1;
    }
    return softva_end(&call, status);
}

static VAStatus check_entrypoint(VAProfile profile, VAEntrypoint entrypoint)
{
    if (profile != VAProfileNone)
        return VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
    if (entrypoint != VAEntrypointVideoProc)
        return VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT;
    return VA_STATUS_SUCCESS;
}

VAStatus softva_get_config_attributes(VADriverContextP context, VAProfile profile,
                                      VAEntrypoint entrypoint, VAConfigAttrib *attributes,
                                      int count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaGetConfigAttributes");

    if (status == VA_STATUS_SUCCESS)
        status = check_entrypoint(profile, entrypoint);
    for (int i = 0; status == VA_STATUS_SUCCESS && i < count; i++)
        attributes[i].value = attributes[i].type == VAConfigAttribRTFormat
                                  ? softva_rt_formats()
                                  : VA_ATTRIB_NOT_SUPPORTED;
    return softva_end(&call, status);
}

static VAStatus create_config(struct softva_display *display, const VAConfigAttrib *attributes,
                              int count, VAConfigID *id)
{
    struct softva_config *config;
    VAStatus status;

    for (int i = 0; i < count; i++)
        if (attributes[i].type == VAConfigAttribRTFormat &&
            !(attributes[i].value & softva_rt_formats()))
            return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
    config = calloc(1, sizeof *config);
    if (!config)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
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
        status = create_config(call.display, attributes, count, id);
    return softva_end(&call, status);
}

/* Takes an object that has nothing else of its own out of the table, and frees it. */
static VAStatus destroy(struct softva_display *display, VAGenericID id, enum softva_kind kind,
                        VAStatus if_not_there)
{
    struct softva_object *object = softva_table_find(&display->table, id, kind);

    if (!object)
        return if_not_there;
    softva_table_remove(&display->table, object);
    free(object);
    return VA_STATUS_SUCCESS;
}

VAStatus softva_destroy_config(VADriverContextP context, VAConfigID id)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaDestroyConfig");

    if (status == VA_STATUS_SUCCESS)
        status = destroy(call.display, id, SOFTVA_CONFIG, VA_STATUS_ERROR_INVALID_CONFIG);
    return softva_end(&call, status);
}

VAStatus softva_query_config_attributes(VADriverContextP context, VAConfigID id,
                                        VAProfile *profile, VAEntrypoint *entrypoint,
                                        VAConfigAttrib *attributes, int *count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaQueryConfigAttributes");

    if (status == VA_STATUS_SUCCESS && !softva_table_find(&call.display->table, id, SOFTVA_CONFIG))
        status = VA_STATUS_ERROR_INVALID_CONFIG;
    if (status == VA_STATUS_SUCCESS) {
        *profile = VAProfileNone;
        *entrypoint = VAEntrypointVideoProc;
        attributes[0].type = VAConfigAttribRTFormat;
        attributes[0].value = softva_rt_formats();
        *count = 1;
    }
    return softva_end(&call, status);
}

static VAStatus create_context(struct softva_display *display, VAConfigID config,
                               const VASurfaceID *targets, int target_count, VAContextID *id)
{
    struct softva_context *context;
    VAStatus status;

    if (!softva_table_find(&display->table, config, SOFTVA_CONFIG))
        return VA_STATUS_ERROR_INVALID_CONFIG;
    for (int i = 0; targets && i < target_count; i++)
        if (!softva_table_find(&display->table, targets[i], SOFTVA_SURFACE))
            return VA_STATUS_ERROR_INVALID_SURFACE;
    context = calloc(1, sizeof *context);
    if (!context)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
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
    VAStatus status = softva_begin(&call, context, "vaDestroyContext");

    if (status == VA_STATUS_SUCCESS)
        status = destroy(call.display, id, SOFTVA_CONTEXT, VA_STATUS_ERROR_INVALID_CONTEXT);
    return softva_end(&call, status);
}
