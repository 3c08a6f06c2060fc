/* SPDX-License-Identifier: Apache-2.0 */
/* For memfd_create. */
#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/descriptor_size.h"

static int make_memfd(size_t size)
{
    int fd = memfd_create("softva", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -1;
    /* It keeps its size, as a DMA-BUF does: udmabuf wants that, and so do other processes. */
    if (ftruncate(fd, (off_t)size) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int make_udmabuf(size_t size)
{
    int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
    struct udmabuf_create create = {.flags = UDMABUF_FLAGS_CLOEXEC, .size = size};
    int memfd, fd = -1;

    if (device < 0)
        return -1;
    memfd = make_memfd(size);
    if (memfd >= 0) {
        create.memfd = (uint32_t)memfd;
        fd = ioctl(device, UDMABUF_CREATE, &create);
    }
    if (memfd >= 0)
        close(memfd);
    close(device);
    return fd;
}

static int make_heap_buffer(size_t size)
{
    int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
    struct dma_heap_allocation_data allocation = {.len = size, .fd_flags = O_RDWR | O_CLOEXEC};
    int result;

    if (heap < 0)
        return -1;
    result = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &allocation);
    close(heap);
    return result == 0 ? (int)allocation.fd : -1;
}

struct maker {
    enum softva_memory_source source;
    const char *name;
    int (*make)(size_t size);
};

static const struct maker makers[] = {
    {SOFTVA_MEMORY_UDMABUF, "udmabuf", make_udmabuf},
    {SOFTVA_MEMORY_HEAP, "heap", make_heap_buffer},
    {SOFTVA_MEMORY_MEMFD, "memfd", make_memfd},
};

/* Makes a memory object of a descriptor, which is then the object's; also if that fails. */
static struct softva_memory *map(int fd, size_t size, const char *source)
{
    struct softva_memory *memory = calloc(1, sizeof *memory);

    if (memory) {
        memory->references = 1;
        memory->fd = fd;
        memory->size = size;
        memory->source = source;
        memory->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory->bytes != MAP_FAILED)
            return memory;
    }
    free(memory);
    close(fd);
    return NULL;
}

struct softva_memory *softva_memory_allocate(enum softva_memory_source source, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (size + page - 1) / page * page;

    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        int fd;

        if (source != SOFTVA_MEMORY_ANY && source != makers[i].source)
            continue;
        fd = makers[i].make(whole);
        if (fd >= 0)
            return map(fd, whole, makers[i].name);
    }
    return NULL;
}

struct softva_memory *softva_memory_import(int fd, size_t size)
{
    off_t available = size_of_descriptor(fd);
    int own;

    if (available <= 0 || size > (size_t)available)
        return NULL;
    own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return NULL;
    return map(own, size ? size : (size_t)available, "import");
}

void softva_memory_keep(struct softva_memory *memory)
{
    memory->references++;
}

void softva_memory_drop(struct softva_memory *memory)
{
    if (--memory->references)
        return;
    munmap(memory->bytes, memory->size);
    close(memory->fd);
    free(memory);
}

static void synchronise(const struct softva_memory *memory, uint64_t flags)
{
    struct dma_buf_sync sync = {.flags = flags};

    /* Memory that is not a DMA-BUF refuses this, and needs nothing of the kind. */
    while (ioctl(memory->fd, DMA_BUF_IOCTL_SYNC, &sync) == -1 &&
           (errno == EINTR || errno == EAGAIN))
        ;
}

void softva_memory_begin(const struct softva_memory *memory, uint64_t access)
{
    synchronise(memory, DMA_BUF_SYNC_START | access);
}

void softva_memory_end(const struct softva_memory *memory, uint64_t access)
{
    synchronise(memory, DMA_BUF_SYNC_END | access);
}
