/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of baseline JPEG: what one picture's buffers say is put together as a file again, which a
 * library decodes. Pictures of 4:2:0 in one scan, into surfaces of NV12. */
#ifndef SOFTVA_DECODING_H
#define SOFTVA_DECODING_H

#include <va/va_dec_jpeg.h>

#include "buffers.h"
#include "surfaces.h"

/* What vaRenderPicture was given since vaBeginPicture. */
struct softva_scan {
    bool has_picture, has_huffman, has_tables, has_slice;
    VAPictureParameterBufferJPEGBaseline picture;
    VAHuffmanTableBufferJPEGBaseline huffman;
    VAIQMatrixBufferJPEGBaseline tables;
    VASliceParameterBufferJPEGBaseline slice;
    uint8_t *bytes;
    size_t size;
};

/* Whether a context that decodes takes buffers of this type. */
bool softva_decoding_takes(VABufferType type);

/* Keeps a copy of what a buffer says. */
VAStatus softva_decoding_render(struct softva_scan *scan, const struct softva_buffer *buffer);

/* Decodes what was kept into a surface. */
VAStatus softva_decoding_end(const struct softva_scan *scan, struct softva_surface *target);

/* Forgets what was kept. */
void softva_decoding_reset(struct softva_scan *scan);

#endif
