/* SPDX-License-Identifier: Apache-2.0 */
/* Configs and contexts: of video processing without any filters, and, where a library decodes JPEG, of
 * decoding that. Nothing is encoded. */
#ifndef SOFTVA_CONFIGS_H
#define SOFTVA_CONFIGS_H

#include "decoding.h"
#include "display.h"

struct softva_config {
    struct softva_object object;
    bool decodes; /* JPEG; else it processes */
};

/* Pictures are made by vaBeginPicture, vaRenderPicture and vaEndPicture. */
struct softva_context {
    struct softva_object object;
    bool decodes;
    bool begun;
    VASurfaceID target;
    struct softva_scan scan; /* if it decodes */
};

/* What a config has surfaces for: VA_RT_FORMAT_*. */
uint32_t softva_config_rt_formats(const struct softva_config *config);

void softva_context_free(struct softva_context *context);

/* Functions of the vtable. */
VAStatus softva_query_config_profiles(VADriverContextP context, VAProfile *profiles, int *count);
VAStatus softva_query_config_entrypoints(VADriverContextP context, VAProfile profile,
                                         VAEntrypoint *entrypoints, int *count);
VAStatus softva_get_config_attributes(VADriverContextP context, VAProfile profile,
                                      VAEntrypoint entrypoint, VAConfigAttrib *attributes,
                                      int count);
VAStatus softva_create_config(VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint,
                              VAConfigAttrib *attributes, int count, VAConfigID *id);
VAStatus softva_destroy_config(VADriverContextP context, VAConfigID id);
VAStatus softva_query_config_attributes(VADriverContextP context, VAConfigID id,
                                        VAProfile *profile, VAEntrypoint *entrypoint,
                                        VAConfigAttrib *attributes, int *count);
VAStatus softva_create_context(VADriverContextP context, VAConfigID config, int width, int height,
                               int flags, VASurfaceID *targets, int target_count,
                               VAContextID *id);
VAStatus softva_destroy_context(VADriverContextP context, VAContextID id);

#endif
