/* SPDX-License-Identifier: Apache-2.0 */
#include "pictures.h"

#include "configs.h"
#include "video_processing.h"

VAStatus softva_begin_picture(VADriverContextP context, VAContextID id, VASurfaceID target)
{
    struct softva_call call;
    struct softva_context *picture = NULL;
    VAStatus status = softva_begin(&call, context, "vaBeginPicture");

    if (status == VA_STATUS_SUCCESS) {
        picture = softva_table_find(&call.display->table, id, SOFTVA_CONTEXT);
        if (!picture)
            status = VA_STATUS_ERROR_INVALID_CONTEXT;
        else if (!softva_table_find(&call.display->table, target, SOFTVA_SURFACE))
            status = VA_STATUS_ERROR_INVALID_SURFACE;
    }
    if (status == VA_STATUS_SUCCESS) {
        picture->target = target;
        picture->begun = true;
        softva_decoding_reset(&picture->scan);
    }
    return softva_end(&call, status);
}

/* Gives the picture that is begun and its surface, or the reason why there is none. */
static VAStatus find_begun(const struct softva_display *display, VAContextID id,
                           struct softva_context **picture, struct softva_surface **target)
{
    *picture = softva_table_find(&display->table, id, SOFTVA_CONTEXT);
    if (!*picture || !(*picture)->begun)
        return VA_STATUS_ERROR_INVALID_CONTEXT;
    *target = softva_table_find(&display->table, (*picture)->target, SOFTVA_SURFACE);
    return *target ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_SURFACE;
}

static VAStatus render(const struct softva_display *display, VAContextID id,
                       const VABufferID *buffers, int count)
{
    struct softva_context *picture;
    struct softva_surface *target;
    VAStatus status = find_begun(display, id, &picture, &target);

    for (int i = 0; status == VA_STATUS_SUCCESS && i < count; i++) {
        const struct softva_buffer *buffer =
            softva_table_find(&display->table, buffers[i], SOFTVA_BUFFER);

        if (!buffer)
            return VA_STATUS_ERROR_INVALID_BUFFER;
        status = picture->decodes ? softva_decoding_render(&picture->scan, buffer)
                                  : softva_process(display, buffer, target);
    }
    return status;
}

VAStatus softva_render_picture(VADriverContextP context, VAContextID id, VABufferID *buffers,
                               int count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaRenderPicture");

    if (status == VA_STATUS_SUCCESS)
        status = render(call.display, id, buffers, count);
    return softva_end(&call, status);
}

static VAStatus end(const struct softva_display *display, VAContextID id)
{
    struct softva_context *picture;
    struct softva_surface *target;
    VAStatus status = find_begun(display, id, &picture, &target);

    if (picture)
        picture->begun = false;
    if (status == VA_STATUS_SUCCESS && picture->decodes)
        status = softva_decoding_end(&picture->scan, target);
    return status;
}

VAStatus softva_end_picture(VADriverContextP context, VAContextID id)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaEndPicture");

    if (status == VA_STATUS_SUCCESS)
        status = end(call.display, id);
    return softva_end(&call, status);
}
