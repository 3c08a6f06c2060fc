/* SPDX-License-Identifier: Apache-2.0 */
#include "unsupported.h"

#include "display.h"

/* Counts and traces a call that does nothing. */
static VAStatus refuse(VADriverContextP context, const char *function, VAStatus answer)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, function);

    return softva_end(&call, status == VA_STATUS_SUCCESS ? answer : status);
}

static VAStatus put_surface(VADriverContextP context, VASurfaceID surface, void *drawable,
                            short source_x, short source_y, unsigned short source_width,
                            unsigned short source_height, short target_x, short target_y,
                            unsigned short target_width, unsigned short target_height,
                            VARectangle *clip, unsigned int clip_count, unsigned int flags)
{
    (void)surface, (void)drawable, (void)clip, (void)clip_count, (void)flags;
    (void)source_x, (void)source_y, (void)source_width, (void)source_height;
    (void)target_x, (void)target_y, (void)target_width, (void)target_height;
    return refuse(context, "vaPutSurface", VA_STATUS_ERROR_UNIMPLEMENTED);
}

static VAStatus set_image_palette(VADriverContextP context, VAImageID image,
                                  unsigned char *palette)
{
    (void)image, (void)palette;
    return refuse(context, "vaSetImagePalette", VA_STATUS_ERROR_UNIMPLEMENTED);
}

static VAStatus lock_surface(VADriverContextP context, VASurfaceID surface, unsigned int *fourcc,
                             unsigned int *luma_stride, unsigned int *chroma_u_stride,
                             unsigned int *chroma_v_stride, unsigned int *luma_offset,
                             unsigned int *chroma_u_offset, unsigned int *chroma_v_offset,
                             unsigned int *buffer_name, void **buffer)
{
    (void)surface, (void)fourcc, (void)luma_stride, (void)chroma_u_stride, (void)chroma_v_stride;
    (void)luma_offset, (void)chroma_u_offset, (void)chroma_v_offset;
    (void)buffer_name, (void)buffer;
    return refuse(context, "vaLockSurface", VA_STATUS_ERROR_UNIMPLEMENTED);
}

static VAStatus unlock_surface(VADriverContextP context, VASurfaceID surface)
{
    (void)surface;
    return refuse(context, "vaUnlockSurface", VA_STATUS_ERROR_UNIMPLEMENTED);
}

/* There are no subpictures: the list of their formats is empty. */
static VAStatus query_subpicture_formats(VADriverContextP context, VAImageFormat *formats,
                                         unsigned int *flags, unsigned int *count)
{
    (void)formats, (void)flags;
    *count = 0;
    return refuse(context, "vaQuerySubpictureFormats", VA_STATUS_SUCCESS);
}

static VAStatus create_subpicture(VADriverContextP context, VAImageID image,
                                  VASubpictureID *subpicture)
{
    (void)image, (void)subpicture;
    return refuse(context, "vaCreateSubpicture", VA_STATUS_ERROR_UNIMPLEMENTED);
}

static VAStatus destroy_subpicture(VADriverContextP context, VASubpictureID subpicture)
{
    (void)subpicture;
    return refuse(context, "vaDestroySubpicture", VA_STATUS_ERROR_INVALID_SUBPICTURE);
}

static VAStatus set_subpicture_image(VADriverContextP context, VASubpictureID subpicture,
                                     VAImageID image)
{
    (void)subpicture, (void)image;
    return refuse(context, "vaSetSubpictureImage", VA_STATUS_ERROR_INVALID_SUBPICTURE);
}

static VAStatus set_subpicture_chromakey(VADriverContextP context, VASubpictureID subpicture,
                                         unsigned int lowest, unsigned int highest,
                                         unsigned int mask)
{
    (void)subpicture, (void)lowest, (void)highest, (void)mask;
    return refuse(context, "vaSetSubpictureChromakey", VA_STATUS_ERROR_INVALID_SUBPICTURE);
}

static VAStatus set_subpicture_alpha(VADriverContextP context, VASubpictureID subpicture,
                                     float alpha)
{
    (void)subpicture, (void)alpha;
    return refuse(context, "vaSetSubpictureGlobalAlpha", VA_STATUS_ERROR_INVALID_SUBPICTURE);
}

static VAStatus associate_subpicture(VADriverContextP context, VASubpictureID subpicture,
                                     VASurfaceID *surfaces, int count, short source_x,
                                     short source_y, unsigned short source_width,
                                     unsigned short source_height, short target_x, short target_y,
                                     unsigned short target_width, unsigned short target_height,
                                     unsigned int flags)
{
    (void)subpicture, (void)surfaces, (void)count, (void)flags;
    (void)source_x, (void)source_y, (void)source_width, (void)source_height;
    (void)target_x, (void)target_y, (void)target_width, (void)target_height;
    return refuse(context, "vaAssociateSubpicture", VA_STATUS_ERROR_INVALID_SUBPICTURE);
}

static VAStatus deassociate_subpicture(VADriverContextP context, VASubpictureID subpicture,
                                       VASurfaceID *surfaces, int count)
{
    (void)subpicture, (void)surfaces, (void)count;
    return refuse(context, "vaDeassociateSubpicture", VA_STATUS_ERROR_INVALID_SUBPICTURE);
}

/* There is no display, so that it has no attributes either. */
static VAStatus query_display_attributes(VADriverContextP context, VADisplayAttribute *attributes,
                                         int *count)
{
    (void)attributes;
    *count = 0;
    return refuse(context, "vaQueryDisplayAttributes", VA_STATUS_SUCCESS);
}

static VAStatus get_display_attributes(VADriverContextP context, VADisplayAttribute *attributes,
                                       int count)
{
    for (int i = 0; i < count; i++)
        attributes[i].flags = VA_DISPLAY_ATTRIB_NOT_SUPPORTED;
    return refuse(context, "vaGetDisplayAttributes", VA_STATUS_SUCCESS);
}

static VAStatus set_display_attributes(VADriverContextP context, VADisplayAttribute *attributes,
                                       int count)
{
    (void)attributes, (void)count;
    return refuse(context, "vaSetDisplayAttributes", VA_STATUS_ERROR_ATTR_NOT_SUPPORTED);
}

void softva_fill_unsupported(struct VADriverVTable *table)
{
    table->vaPutSurface = put_surface;
    table->vaSetImagePalette = set_image_palette;
    table->vaLockSurface = lock_surface;
    table->vaUnlockSurface = unlock_surface;
    table->vaQuerySubpictureFormats = query_subpicture_formats;
    table->vaCreateSubpicture = create_subpicture;
    table->vaDestroySubpicture = destroy_subpicture;
    table->vaSetSubpictureImage = set_subpicture_image;
    table->vaSetSubpictureChromakey = set_subpicture_chromakey;
    table->vaSetSubpictureGlobalAlpha = set_subpicture_alpha;
    table->vaAssociateSubpicture = associate_subpicture;
    table->vaDeassociateSubpicture = deassociate_subpicture;
    table->vaQueryDisplayAttributes = query_display_attributes;
    table->vaGetDisplayAttributes = get_display_attributes;
    table->vaSetDisplayAttributes = set_display_attributes;
}
