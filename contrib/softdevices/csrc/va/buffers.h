/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTVA_BUFFERS_H
#define SOFTVA_BUFFERS_H

#include "display.h"

/* Bytes of the driver's own, or a memory object of a surface. */
struct softva_buffer {
    struct softva_object object;
    VABufferType type;
    unsigned int element_size, element_count;
    void *bytes;
    struct softva_memory *memory;
    VASurfaceID surface; /* that the memory is of */
    unsigned int mapped;
    unsigned int acquired;
    int acquired_fd;
};

/* Makes a buffer of zeros, or of `data`. */
VAStatus softva_buffer_create(struct softva_display *display, VABufferType type,
                              unsigned int element_size, unsigned int element_count,
                              const void *data, VABufferID *id);

/* Makes a buffer over the memory of a surface, which it keeps alive. */
VAStatus softva_buffer_create_over(struct softva_display *display, struct softva_memory *memory,
                                   VASurfaceID surface, VABufferID *id);

/* Destroys the buffer of this id, if there is one. */
VAStatus softva_buffer_destroy(struct softva_display *display, VABufferID id);

void softva_buffer_free(struct softva_buffer *buffer);

/* The CPU begins or ends to access a buffer; `access` as in memory.h. */
uint8_t *softva_buffer_begin(const struct softva_buffer *buffer, uint64_t access);
void softva_buffer_end(const struct softva_buffer *buffer, uint64_t access);

/* Functions of the vtable. */
VAStatus softva_create_buffer(VADriverContextP context, VAContextID owner, VABufferType type,
                              unsigned int size, unsigned int count, void *data, VABufferID *id);
VAStatus softva_buffer_set_num_elements(VADriverContextP context, VABufferID id,
                                        unsigned int count);
VAStatus softva_map_buffer(VADriverContextP context, VABufferID id, void **bytes);
VAStatus softva_unmap_buffer(VADriverContextP context, VABufferID id);
VAStatus softva_destroy_buffer(VADriverContextP context, VABufferID id);
VAStatus softva_buffer_info(VADriverContextP context, VABufferID id, VABufferType *type,
                            unsigned int *size, unsigned int *count);
VAStatus softva_sync_buffer(VADriverContextP context, VABufferID id, uint64_t timeout);

/* buffer_handles.c */
VAStatus softva_acquire_buffer_handle(VADriverContextP context, VABufferID id,
                                      VABufferInfo *information);
VAStatus softva_release_buffer_handle(VADriverContextP context, VABufferID id);

#endif
