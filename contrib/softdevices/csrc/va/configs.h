/* SPDX-License-Identifier: Apache-2.0 */
/* Configs and contexts. The driver decodes and encodes nothing: it offers video processing
 * without any filters, which copies and scales. */
#ifndef SOFTVA_CONFIGS_H
#define SOFTVA_CONFIGS_H

#include "display.h"

struct softva_config {
    struct softva_object object;
};

/* Pictures are made by vaBeginPicture, vaRenderPicture and vaEndPicture. */
struct softva_context {
    struct softva_object object;
    bool begun;
    VASurfaceID target;
};

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
