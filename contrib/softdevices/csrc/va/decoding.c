/* SPDX-License-Identifier: Apache-2.0 */
#include "decoding.h"

#include <linux/dma-buf.h>
#include <stdlib.h>
#include <string.h>

#include "jpeg_library.h"

enum { COMPONENTS = 3, TABLES = 2, HEADERS_SIZE = 2048 };

/* The bytes of a type of buffer that describe the picture; 0 for other types. */
static size_t size_of(VABufferType type)
{
    switch (type) {
    case VAPictureParameterBufferType:
        return sizeof(VAPictureParameterBufferJPEGBaseline);
    case VAHuffmanTableBufferType:
        return sizeof(VAHuffmanTableBufferJPEGBaseline);
    case VAIQMatrixBufferType:
        return sizeof(VAIQMatrixBufferJPEGBaseline);
    case VASliceParameterBufferType:
        return sizeof(VASliceParameterBufferJPEGBaseline);
    default:
        return 0;
    }
}

bool softva_decoding_takes(VABufferType type)
{
    return size_of(type) || type == VASliceDataBufferType;
}

static VAStatus keep_data(struct softva_scan *scan, const struct softva_buffer *buffer)
{
    size_t size = (size_t)buffer->element_size * buffer->element_count;

    if (!scan->has_slice)
        return VA_STATUS_ERROR_INVALID_BUFFER;
    if (scan->bytes)
        return VA_STATUS_ERROR_UNIMPLEMENTED; /* a second scan */
    if (scan->slice.slice_data_flag != VA_SLICE_DATA_FLAG_ALL ||
        scan->slice.slice_data_offset > size ||
        scan->slice.slice_data_size > size - scan->slice.slice_data_offset ||
        !scan->slice.slice_data_size)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    scan->bytes = malloc(scan->slice.slice_data_size);
    if (!scan->bytes)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    scan->size = scan->slice.slice_data_size;
    memcpy(scan->bytes, (uint8_t *)buffer->bytes + scan->slice.slice_data_offset, scan->size);
    return VA_STATUS_SUCCESS;
}

VAStatus softva_decoding_render(struct softva_scan *scan, const struct softva_buffer *buffer)
{
    if (buffer->type == VASliceDataBufferType)
        return keep_data(scan, buffer);
    if (!size_of(buffer->type))
        return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    if ((size_t)buffer->element_size < size_of(buffer->type))
        return VA_STATUS_ERROR_INVALID_BUFFER;
    switch (buffer->type) {
    case VAPictureParameterBufferType:
        memcpy(&scan->picture, buffer->bytes, sizeof scan->picture);
        scan->has_picture = true;
        break;
    case VAHuffmanTableBufferType:
        memcpy(&scan->huffman, buffer->bytes, sizeof scan->huffman);
        scan->has_huffman = true;
        break;
    case VAIQMatrixBufferType:
        memcpy(&scan->tables, buffer->bytes, sizeof scan->tables);
        scan->has_tables = true;
        break;
    default:
        if (buffer->element_count > 1 || scan->bytes)
            return VA_STATUS_ERROR_UNIMPLEMENTED; /* several scans */
        memcpy(&scan->slice, buffer->bytes, sizeof scan->slice);
        scan->has_slice = true;
        break;
    }
    return VA_STATUS_SUCCESS;
}

void softva_decoding_reset(struct softva_scan *scan)
{
    free(scan->bytes);
    memset(scan, 0, sizeof *scan);
}

/* A JPEG file that is being written; its buffer has room for all headers there can be. */
struct writer {
    uint8_t *at;
};

static void put8(struct writer *to, unsigned int value)
{
    *to->at++ = (uint8_t)value;
}

static void put16(struct writer *to, unsigned int value)
{
    put8(to, value >> 8);
    put8(to, value);
}

static void put_bytes(struct writer *to, const void *bytes, size_t size)
{
    memcpy(to->at, bytes, size);
    to->at += size;
}

/* Begins a segment of `size` bytes, the size itself included. */
static void put_marker(struct writer *to, unsigned int marker, unsigned int size)
{
    put16(to, marker);
    put16(to, size);
}

/* Writes one table, unless it says that it has more codes than there is room for. */
static bool put_huffman(struct writer *to, unsigned int class_and_place, const uint8_t counts[16],
                        const uint8_t *values, unsigned int room)
{
    unsigned int codes = 0;

    for (int i = 0; i < 16; i++)
        codes += counts[i];
    if (codes > room)
        return false;
    put_marker(to, 0xffc4, 2 + 17 + codes);
    put8(to, class_and_place);
    put_bytes(to, counts, 16);
    put_bytes(to, values, codes);
    return true;
}

/* Whether the buffers describe an interleaved picture of 4:2:0 with tables that are there. */
static VAStatus check(const struct softva_scan *scan)
{
    const VAPictureParameterBufferJPEGBaseline *picture = &scan->picture;

    if (!scan->has_picture || !scan->has_huffman || !scan->has_tables || !scan->bytes)
        return VA_STATUS_ERROR_INVALID_BUFFER;
    if (picture->num_components != COMPONENTS || scan->slice.num_components != COMPONENTS ||
        picture->rotation || picture->color_space)
        return VA_STATUS_ERROR_UNIMPLEMENTED;
    for (int i = 0; i < COMPONENTS; i++) {
        unsigned int table = picture->components[i].quantiser_table_selector;
        unsigned int dc = scan->slice.components[i].dc_table_selector;
        unsigned int ac = scan->slice.components[i].ac_table_selector;
        unsigned int sampling = i ? 1 : 2;

        if (picture->components[i].h_sampling_factor != sampling ||
            picture->components[i].v_sampling_factor != sampling)
            return VA_STATUS_ERROR_UNIMPLEMENTED;
        if (table > 3 || dc >= TABLES || ac >= TABLES ||
            !scan->tables.load_quantiser_table[table] || !scan->huffman.load_huffman_table[dc] ||
            !scan->huffman.load_huffman_table[ac])
            return VA_STATUS_ERROR_INVALID_PARAMETER;
    }
    return VA_STATUS_SUCCESS;
}

/* FFmpeg also loads tables of zeros, which no component uses. */
static bool uses_table(const VAPictureParameterBufferJPEGBaseline *picture, unsigned int table)
{
    for (int i = 0; i < COMPONENTS; i++)
        if (picture->components[i].quantiser_table_selector == table)
            return true;
    return false;
}

/* Writes what stands before the data of the scan (ITU-T T.81, annex B). */
static bool put_headers(struct writer *to, const struct softva_scan *scan)
{
    put16(to, 0xffd8);
    for (unsigned int i = 0; i < 4; i++) {
        if (!scan->tables.load_quantiser_table[i] || !uses_table(&scan->picture, i))
            continue;
        put_marker(to, 0xffdb, 2 + 65);
        put8(to, i);
        put_bytes(to, scan->tables.quantiser_table[i], 64);
    }
    for (unsigned int i = 0; i < TABLES; i++) {
        if (scan->huffman.load_huffman_table[i] &&
            !(put_huffman(to, i, scan->huffman.huffman_table[i].num_dc_codes,
                          scan->huffman.huffman_table[i].dc_values, 12) &&
              put_huffman(to, 0x10 | i, scan->huffman.huffman_table[i].num_ac_codes,
                          scan->huffman.huffman_table[i].ac_values, 162)))
            return false;
    }
    put_marker(to, 0xffc0, 8 + 3 * COMPONENTS);
    put8(to, 8);
    put16(to, scan->picture.picture_height);
    put16(to, scan->picture.picture_width);
    put8(to, COMPONENTS);
    for (int i = 0; i < COMPONENTS; i++) {
        put8(to, scan->picture.components[i].component_id);
        put8(to, i ? 0x11 : 0x22);
        put8(to, scan->picture.components[i].quantiser_table_selector);
    }
    if (scan->slice.restart_interval) {
        put_marker(to, 0xffdd, 4);
        put16(to, scan->slice.restart_interval);
    }
    put_marker(to, 0xffda, 6 + 2 * COMPONENTS);
    put8(to, COMPONENTS);
    for (int i = 0; i < COMPONENTS; i++) {
        put8(to, scan->slice.components[i].component_selector);
        put8(to, scan->slice.components[i].dc_table_selector << 4 |
                     scan->slice.components[i].ac_table_selector);
    }
    put8(to, 0);
    put8(to, 63);
    put8(to, 0);
    return true;
}

/* Copies a picture of 4:2:0 in three planes into a surface of NV12. */
static VAStatus copy_out(const struct softva_jpeg_picture *picture, struct softva_surface *target)
{
    uint32_t columns = (picture->width + 1) / 2, rows = (picture->height + 1) / 2;
    uint8_t *chroma = malloc((size_t)columns * rows * 2);
    struct softva_picture to = softva_surface_picture(target);
    const struct softva_area all = {0, 0, picture->width, picture->height};
    struct softva_picture from = {
        .format = target->format,
        .width = picture->width,
        .height = picture->height,
        /* It is only read. */
        .planes = {(uint8_t *)(uintptr_t)picture->planes[0], chroma},
        .pitches = {(uint32_t)picture->pitches[0], columns * 2},
    };

    if (!chroma)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    for (uint32_t y = 0; y < rows; y++) {
        for (uint32_t x = 0; x < columns; x++) {
            uint8_t *cell = chroma + ((size_t)y * columns + x) * 2;

            cell[0] = picture->planes[1][y * picture->pitches[1] + x];
            cell[1] = picture->planes[2][y * picture->pitches[2] + x];
        }
    }
    softva_surface_begin(target, DMA_BUF_SYNC_WRITE);
    softva_copy(&to, &all, &from, &all);
    softva_surface_end(target, DMA_BUF_SYNC_WRITE);
    free(chroma);
    return VA_STATUS_SUCCESS;
}

VAStatus softva_decoding_end(const struct softva_scan *scan, struct softva_surface *target)
{
    struct softva_jpeg_picture picture;
    VAStatus status = check(scan);
    struct writer writer;
    uint8_t *file;
    bool decoded;

    if (status != VA_STATUS_SUCCESS)
        return status;
    if (target->format->fourcc != VA_FOURCC_NV12 || !scan->picture.picture_width ||
        !scan->picture.picture_height || scan->picture.picture_width > target->width ||
        scan->picture.picture_height > target->height)
        return VA_STATUS_ERROR_INVALID_SURFACE;
    file = malloc(HEADERS_SIZE + scan->size + 2);
    if (!file)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    writer.at = file;
    decoded = put_headers(&writer, scan);
    if (decoded) {
        put_bytes(&writer, scan->bytes, scan->size);
        put16(&writer, 0xffd9);
        decoded = softva_jpeg_decode(file, (size_t)(writer.at - file), &picture);
    }
    free(file);
    if (!decoded)
        return VA_STATUS_ERROR_DECODING_ERROR;
    if (picture.width == scan->picture.picture_width &&
        picture.height == scan->picture.picture_height)
        status = copy_out(&picture, target);
    else
        status = VA_STATUS_ERROR_DECODING_ERROR; /* another picture stands in the data */
    softva_jpeg_free(&picture);
    return status;
}
