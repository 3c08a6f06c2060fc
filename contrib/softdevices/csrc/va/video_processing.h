/* SPDX-License-Identifier: Apache-2.0 */
/* Video processing: a surface is copied into another, cropped, scaled and converted to its format. There
 * are not filters. */
#ifndef SOFTVA_VIDEO_PROCESSING_H
#define SOFTVA_VIDEO_PROCESSING_H

#include "buffers.h"
#include "display.h"
#include "surfaces.h"

/* These need libva's other headers before them. */
#include <va/va_vpp.h>

#include <va/va_backend_vpp.h>

/* Does what a buffer of a picture asks for, at once. */
VAStatus softva_process(const struct softva_display *display, const struct softva_buffer *buffer,
                        struct softva_surface *target);

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
