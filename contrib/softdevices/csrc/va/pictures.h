/* SPDX-License-Identifier: Apache-2.0 */
/* vaBeginPicture, vaRenderPicture and vaEndPicture, of contexts that process and that decode. */
#ifndef SOFTVA_PICTURES_H
#define SOFTVA_PICTURES_H

#include "display.h"

/* Functions of the vtable. */
VAStatus softva_begin_picture(VADriverContextP context, VAContextID id, VASurfaceID target);
VAStatus softva_render_picture(VADriverContextP context, VAContextID id, VABufferID *buffers,
                               int count);
VAStatus softva_end_picture(VADriverContextP context, VAContextID id);

#endif
