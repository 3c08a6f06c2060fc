/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "allocation.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/descriptor_size.h"

static size_t whole_pages(size_t size)
{
    return (size + PAGE - 1) & ~(PAGE - 1);
}

void allocation_unpin(struct allocation *allocation)
{
    if (!allocation || atomic_fetch_sub(&allocation->pins, 1) != 1)
        return;
    if (allocation->mapped)
        munmap(allocation->base, allocation->mapped);
    if (allocation->fd >= 0)
        close(allocation->fd);
    free(allocation);
}

/* Map `fd`, or fresh memory if it is -1, at an address of the wanted alignment. */
static char *map_aligned(int fd, size_t size, size_t alignment)
{
    const size_t spare = alignment > PAGE ? alignment : 0;
    /* Reserve too much, then put the real mapping at the aligned place and give the rest back. */
    char *reserved = mmap(NULL, size + spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED)
        return NULL;
    char *base = reserved;
    if (spare)
        base = (char *)(((uintptr_t)reserved + alignment - 1) & ~(uintptr_t)(alignment - 1));
    /* Shared also without an fd: like device memory it stays one memory across fork(). */
    const int flags = MAP_FIXED | MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0);
    if (mmap(base, size, PROT_READ | PROT_WRITE, flags, fd, 0) == MAP_FAILED) {
        munmap(reserved, size + spare);
        return NULL;
    }
    if (base > reserved)
        munmap(reserved, (size_t)(base - reserved));
    char *end = base + size, *reserved_end = reserved + size + spare;
    if (reserved_end > end)
        munmap(end, (size_t)(reserved_end - end));
    return base;
}

static ze_result_t fill_fresh(struct allocation *allocation, const struct request *request)
{
    allocation->size = allocation->mapped = whole_pages(request->size);
    /* Only what may be exported costs a descriptor: programs have few of them. */
    if (request->exportable) {
        allocation->fd = memfd_create("softnpu", MFD_CLOEXEC);
        if (allocation->fd < 0 || ftruncate(allocation->fd, (off_t)allocation->mapped))
            return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    allocation->base = map_aligned(allocation->fd, allocation->mapped, request->alignment);
    return allocation->base ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

static ze_result_t fill_from_fd(struct allocation *allocation, const struct request *request)
{
    /* Our own descriptor: the caller's may be closed right after the import. */
    allocation->fd = fcntl(request->fd, F_DUPFD_CLOEXEC, 3);
    const off_t size = allocation->fd < 0 ? -1 : size_of_descriptor(allocation->fd);
    if (size <= 0)
        return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY; /* what Intel's driver answers for a bad fd */
    /* DMA-BUFs are whole pages; the rest of a file's last page can be touched as well. */
    allocation->size = allocation->mapped = whole_pages((size_t)size);
    allocation->base = map_aligned(allocation->fd, allocation->mapped, request->alignment);
    return allocation->base ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

static ze_result_t fill_from_host_memory(struct allocation *allocation,
                                         const struct request *request)
{
    const uintptr_t address = (uintptr_t)request->host_memory;
    if (!request->host_memory)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (address % PAGE || request->size % PAGE)
        return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY; /* the kernel driver refuses partial pages */
    allocation->base = request->host_memory;
    allocation->size = request->size;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t fill(struct allocation *allocation, const struct request *request)
{
    switch (request->source) {
    case FROM_FD:
        return fill_from_fd(allocation, request);
    case FROM_HOST_MEMORY:
        return fill_from_host_memory(allocation, request);
    default:
        return fill_fresh(allocation, request);
    }
}

struct allocation *allocation_create(const struct request *request, ze_result_t *result)
{
    static atomic_ullong last_id;
    struct allocation *allocation = calloc(1, sizeof *allocation);
    if (!allocation) {
        *result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    atomic_init(&allocation->pins, 1);
    allocation->fd = -1;
    allocation->type = request->type;
    allocation->device = request->device;
    allocation->id = atomic_fetch_add(&last_id, 1) + 1;
    *result = fill(allocation, request);
    if (*result == ZE_RESULT_SUCCESS)
        return allocation;
    if (!allocation->base)
        allocation->mapped = 0;
    allocation_unpin(allocation);
    return NULL;
}
