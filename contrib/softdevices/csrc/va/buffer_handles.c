/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptor of a derived image's memory: the older way of export. */
#include <fcntl.h>
#include <unistd.h>
#include <va/va_drmcommon.h>

#include "buffers.h"

static VAStatus acquire(struct softva_display *display, VABufferID id, VABufferInfo *information)
{
    struct softva_buffer *buffer = softva_table_find(&display->table, id, SOFTVA_BUFFER);

    if (!buffer)
        return VA_STATUS_ERROR_INVALID_BUFFER;
    if (!buffer->memory)
        return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    if (!information)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    /* 0 leaves the type to the driver. */
    if (information->mem_type &&
        !(information->mem_type & VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME))
        return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
    if (!buffer->acquired) {
        buffer->acquired_fd = fcntl(buffer->memory->fd, F_DUPFD_CLOEXEC, 0);
        if (buffer->acquired_fd < 0)
            return VA_STATUS_ERROR_ALLOCATION_FAILED;
        softva_descriptors_forget(&display->descriptors, buffer->acquired_fd);
    }
    buffer->acquired++;
    information->handle = (uintptr_t)buffer->acquired_fd;
    information->type = buffer->type;
    information->mem_type = VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME;
    information->mem_size = buffer->memory->size;
    return VA_STATUS_SUCCESS;
}

static VAStatus release(struct softva_display *display, VABufferID id)
{
    struct softva_buffer *buffer = softva_table_find(&display->table, id, SOFTVA_BUFFER);

    if (!buffer || !buffer->acquired)
        return VA_STATUS_ERROR_INVALID_BUFFER;
    if (!--buffer->acquired)
        close(buffer->acquired_fd);
    return VA_STATUS_SUCCESS;
}

VAStatus softva_acquire_buffer_handle(VADriverContextP context, VABufferID id,
                                      VABufferInfo *information)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaAcquireBufferHandle");

    if (status == VA_STATUS_SUCCESS)
        status = acquire(call.display, id, information);
    return softva_end(&call, status);
}

VAStatus softva_release_buffer_handle(VADriverContextP context, VABufferID id)
{
    struct softva_call call;
    VAStatus status = softva_begin(&call, context, "vaReleaseBufferHandle");

    if (status == VA_STATUS_SUCCESS)
        status = release(call.display, id);
    return softva_end(&call, status);
}
