/* SPDX-License-Identifier: Apache-2.0 */
/* Video processing: a surface is copied into another, cropped and scaled, in the same format. There
 * are not filters, and colours are not converted. */
#ifndef SOFTVA_VIDEO_PROCESSING_H
#define SOFTVA_VIDEO_PROCESSING_H

#include "display.h"

/* These need libva's other headers before them. */
#include <va/va_vpp.h>

#include <va/va_backend_vpp.h>

/* Functions of the vtable. */
VAStatus softva_begin_picture(VADriverContextP context, VAContextID id, VASurfaceID target);
VAStatus softva_render_picture(VADriverContextP context, VAContextID id, VABufferID *buffers,
                               int count);
VAStatus softva_end_picture(VADriverContextP context, VAContextID id);

/* Functions of the vtable for video processing. */
VAStatus softva_query_video_proc_filters(VADriverContextP context, VAContextID id,
                                         VAProcFilterType *filters, unsigned int *count);
VAStatus softva_query_video_proc_filter_caps(VADriverContextP context, VAContextID id,
                                             VAProcFilterType type, void *caps,
                                             unsigned int *count);
VAStatus softva_query_video_proc_pipeline_caps(VADriverContextP context, VAContextID id,
                                               VABufferID *filters, unsigned int count,
                                               VAProcPipelineCaps *caps);

#endif
