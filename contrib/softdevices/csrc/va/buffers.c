/* SPDX-License-Identifier: Apache-2.0 */
#include "buffers.h"

#include <linux/dma-buf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "configs.h"

void softva_buffer_free(struct softva_buffer *buffer)
{
    while (buffer->mapped--)
        softva_buffer_end(buffer, DMA_BUF_SYNC_RW);
    if (buffer->acquired)
        close(buffer->acquired_fd);
    if (buffer->memory)
        softva_memory_drop(buffer->memory);
    free(buffer->bytes);
    free(buffer);
}

static VAStatus add(struct softva_display *display, struct softva_buffer *buffer, VABufferID *id)
{
    VAStatus status = softva_table_add(&display->table, &buffer->object, SOFTVA_BUFFER);

    if (status == VA_STATUS_SUCCESS)
        *id = buffer->object.id;
    else
        softva_buffer_free(buffer);
    return status;
}

VAStatus softva_buffer_create(struct softva_display *display, VABufferType type,
                              unsigned int element_size, unsigned int element_count,
                              const void *data, VABufferID *id)
{
    struct softva_buffer *buffer = calloc(1, sizeof *buffer);
    void *bytes = calloc(element_count, element_size);

    if (!buffer || !bytes) {
        free(buffer);
        free(bytes);
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    }
    if (data)
        memcpy(bytes, data, (size_t)element_count * element_size);
    buffer->type = type;
    buffer->element_size = element_size;
    buffer->element_count = element_count;
    buffer->bytes = bytes;
    return add(display, buffer, id);
}

VAStatus softva_buffer_create_over(struct softva_display *display, struct softva_memory *memory,
                                   VASurfaceID surface, VABufferID *id)
{
    struct softva_buffer *buffer = calloc(1, sizeof *buffer);

    if (!buffer)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    softva_memory_keep(memory);
    buffer->type = VAImageBufferType;
    buffer->element_size = (unsigned int)memory->size;
    buffer->element_count = 1;
    buffer->memory = memory;
    buffer->surface = surface;
    return add(display, buffer, id);
}

VAStatus softva_buffer_destroy(struct softva_display *display, VABufferID id)
{
    struct softva_buffer *buffer = softva_table_find(&display->table, id, SOFTVA_BUFFER);

    if (!buffer)
        return VA_STATUS_ERROR_INVALID_BUFFER;
    softva_table_remove(&display->table, &buffer->object);
    softva_buffer_free(buffer);
    return VA_STATUS_SUCCESS;
}

uint8_t *softva_buffer_begin(const struct softva_buffer *buffer, uint64_t access)
{
    if (!buffer->memory)
        return buffer->bytes;
    softva_memory_begin(buffer->memory, access);
    return buffer->memory->bytes;
}

void softva_buffer_end(const struct softva_buffer *buffer, uint64_t access)
{
    if (buffer->memory)
        softva_memory_end(buffer->memory, access);
}

/* Images belong to no context; each of those takes what its entry point needs. */
static VAStatus check_owner(const struct softva_display *display, VAContextID owner,
                            VABufferType type)
{
    const bool processing = type == VAProcPipelineParameterBufferType ||
                            type == VAProcFilterParameterBufferType;
    const struct softva_context *context;

    if (type == VAImageBufferType)
        return VA_STATUS_SUCCESS;
    if (!processing && !softva_decoding_takes(type))
        return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    context = softva_table_find(&display->table, owner, SOFTVA_CONTEXT);
    if (!context)
        return VA_STATUS_ERROR_INVALID_CONTEXT;
    return context->decodes == processing ? VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE
                                          : VA_STATUS_SUCCESS;
}

VAStatus softva_create_buffer(VADriverContextP context, VAContextID owner, VABufferType type,
                              unsigned int size, unsigned int count, void *data, VABufferID *id)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaCreateBuffer");

    if (status == VA_STATUS_SUCCESS)
        status = check_owner(call.display, owner, type);
    if (status == VA_STATUS_SUCCESS && (!size || !count))
        status = VA_STATUS_ERROR_INVALID_PARAMETER;
    if (status == VA_STATUS_SUCCESS)
        status = softva_buffer_create(call.display, type, size, count, data, id);
    return softva_end(&call, status);
}

/* Gives the buffer, or NULL and the reason. */
static struct softva_buffer *find(const struct softva_call *call, VABufferID id, VAStatus *status)
{
    struct softva_buffer *buffer;

    if (*status != VA_STATUS_SUCCESS)
        return NULL;
    buffer = softva_table_find(&call->display->table, id, SOFTVA_BUFFER);
    if (!buffer)
        *status = VA_STATUS_ERROR_INVALID_BUFFER;
    return buffer;
}

VAStatus softva_buffer_set_num_elements(VADriverContextP context, VABufferID id,
                                        unsigned int count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaBufferSetNumElements");
    struct softva_buffer *buffer = find(&call, id, &status);

    /* The memory stays as it is. */
    if (buffer && (!count || count > buffer->element_count))
        status = VA_STATUS_ERROR_INVALID_PARAMETER;
    else if (buffer)
        buffer->element_count = count;
    return softva_end(&call, status);
}

VAStatus softva_map_buffer(VADriverContextP context, VABufferID id, void **bytes)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaMapBuffer");
    struct softva_buffer *buffer = find(&call, id, &status);

    if (buffer) {
        *bytes = softva_buffer_begin(buffer, DMA_BUF_SYNC_RW);
        buffer->mapped++;
    }
    return softva_end(&call, status);
}

VAStatus softva_unmap_buffer(VADriverContextP context, VABufferID id)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaUnmapBuffer");
    struct softva_buffer *buffer = find(&call, id, &status);

    if (buffer && !buffer->mapped) {
        status = VA_STATUS_ERROR_OPERATION_FAILED;
    } else if (buffer) {
        softva_buffer_end(buffer, DMA_BUF_SYNC_RW);
        buffer->mapped--;
    }
    return softva_end(&call, status);
}

VAStatus softva_destroy_buffer(VADriverContextP context, VABufferID id)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaDestroyBuffer");

    if (status == VA_STATUS_SUCCESS)
        status = softva_buffer_destroy(call.display, id);
    return softva_end(&call, status);
}

VAStatus softva_buffer_info(VADriverContextP context, VABufferID id, VABufferType *type,
                            unsigned int *size, unsigned int *count)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaBufferInfo");
    const struct softva_buffer *buffer = find(&call, id, &status);

    if (buffer) {
        *type = buffer->type;
        *size = buffer->element_size;
        *count = buffer->element_count;
    }
    return softva_end(&call, status);
}

VAStatus softva_sync_buffer(VADriverContextP context, VABufferID id, uint64_t timeout)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaSyncBuffer");

    (void)timeout;
    find(&call, id, &status);
    return softva_end(&call, status);
}
