/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "pages.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

size_t pages_round(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return size > SIZE_MAX - page ? 0 : (size + page - 1) / page * page;
}

/* Takes the descriptor. */
static struct pages *over(int fd, size_t size)
{
    struct pages *pages = malloc(sizeof *pages);

    if (!pages) {
        close(fd);
        return NULL;
    }
    pages->references = 1;
    pages->fd = fd;
    pages->size = size;
    pages->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (pages->bytes == MAP_FAILED) {
        close(fd);
        free(pages);
        return NULL;
    }
    return pages;
}

struct pages *pages_make(size_t size)
{
    size_t whole = pages_round(size ? size : 1);
    int fd = whole ? memfd_create("software CUDA", MFD_CLOEXEC) : -1;

    if (fd < 0)
        return NULL;
    if (ftruncate(fd, (off_t)whole) != 0) {
        close(fd);
        return NULL;
    }
    return over(fd, whole);
}

struct pages *pages_of_descriptor(int fd, size_t size)
{
    char path[64];
    struct stat status;
    int own;

    if (fstat(fd, &status) != 0 || status.st_size <= 0 || (size_t)status.st_size < size)
        return NULL;
    /* Opened again: the caller may close its own, or have it opened for reading alone. */
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    own = open(path, O_RDWR | O_CLOEXEC);
    return own < 0 ? NULL : over(own, (size_t)status.st_size);
}

struct pages *pages_hold(struct pages *pages)
{
    pages->references++;
    return pages;
}

void pages_put(struct pages *pages)
{
    if (!pages || --pages->references)
        return;
    munmap(pages->bytes, pages->size);
    close(pages->fd);
    free(pages);
}

void *pages_map(const struct pages *pages, size_t offset, size_t size, void *at, bool for_cpu)
{
    int access = for_cpu ? PROT_READ | PROT_WRITE : PROT_NONE;
    void *mapped;

    if (offset > pages->size || size > pages->size - offset)
        return NULL;
    mapped = mmap(at, size, access, MAP_SHARED | (at ? MAP_FIXED : 0), pages->fd, (off_t)offset);
    return mapped == MAP_FAILED ? NULL : mapped;
}
