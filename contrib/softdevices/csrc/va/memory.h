/* SPDX-License-Identifier: Apache-2.0 */
/* Memory objects: what one file descriptor stands for, mapped for the CPU. */
#ifndef SOFTVA_MEMORY_H
#define SOFTVA_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum softva_memory_source {
    SOFTVA_MEMORY_ANY,
    SOFTVA_MEMORY_UDMABUF,
    SOFTVA_MEMORY_HEAP,
    SOFTVA_MEMORY_MEMFD,
};

struct softva_memory {
    unsigned int references;
    int fd;
    uint8_t *bytes;
    size_t size;
    const char *source; /* "udmabuf", "heap", "memfd", or "import" */
};

/* Give memory with one reference, or NULL. An import keeps its own descriptor; it fails if
 * there are fewer bytes than `size` behind `fd`, and takes all that there are if `size` is 0. */
struct softva_memory *softva_memory_allocate(enum softva_memory_source source, size_t size);
struct softva_memory *softva_memory_import(int fd, size_t size);

void softva_memory_keep(struct softva_memory *memory);
void softva_memory_drop(struct softva_memory *memory);

/* The CPU begins or ends to access the memory; `access` is DMA_BUF_SYNC_READ, _WRITE or both. */
void softva_memory_begin(const struct softva_memory *memory, uint64_t access);
void softva_memory_end(const struct softva_memory *memory, uint64_t access);

#endif
