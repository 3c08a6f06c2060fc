/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DMA-BUFs of device memory, and descriptors of others as external memory.
 *
 * A memfd stands for a DMA-BUF. The CPU could map it, as it cannot map those of NVIDIA's driver: what
 * the device says of that (DMA_BUF_MMAP_SUPPORTED) is what a program must go by.
 */
#define _GNU_SOURCE
#include "config.h"
#include "context.h"
#include "driver.h"
#include "ranges.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct external {
    struct external *next;
    struct pages *pages;
    size_t size;
};

static struct external *externals;

EXPORT CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr address, size_t size, int type,
                                              unsigned long long flags)
{
    struct range *range;
    int fd;

    RETURN_UNLESS_READY();
    if (!handle || type != MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (!size || pages_round(size) != size || pages_round(address) != address)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    range = range_at(address);
    if (!range || (range->kind != RANGE_DEVICE && range->kind != RANGE_VMM))
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    /* A file has no parts: what is shared begins with the pages. */
    if (address != range->address || size > range->pages->size)
        RETURN_UNLOCKED(CUDA_ERROR_NOT_SUPPORTED);
    fd = fcntl(range->pages->fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0)
        memcpy(handle, &fd, sizeof fd);
    RETURN_UNLOCKED(fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
}

EXPORT CUresult cuImportExternalMemory(CUexternalMemory *handle,
                                       const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *description)
{
    struct external *external;
    struct pages *pages;

    RETURN_UNLESS_READY();
    if (!handle || !description || !description->size)
        return CUDA_ERROR_INVALID_VALUE;
    if (description->type != EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD || !config()->dma_buf_import)
        return CUDA_ERROR_NOT_SUPPORTED;
    driver_lock();
    pages = pages_of_descriptor(description->handle.fd, description->size);
    external = pages ? malloc(sizeof *external) : NULL;
    if (!external) {
        pages_put(pages);
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    }
    *external = (struct external){externals, pages, description->size};
    *handle = externals = external;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

static struct external **find(CUexternalMemory handle)
{
    struct external **link = &externals;

    while (*link && *link != handle)
        link = &(*link)->next;
    return link;
}

EXPORT CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *address, CUexternalMemory handle,
                                                const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *description)
{
    struct external *external;
    struct range *range;
    CUcontext context;
    CUresult result;
    char *mapped;
    size_t inside;

    RETURN_UNLESS_READY();
    if (!address || !description || description->flags || !description->size)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    if ((result = context_current(&context)) != CUDA_SUCCESS)
        RETURN_UNLOCKED(result);
    external = *find(handle);
    if (!external || description->offset > external->size ||
        description->size > external->size - description->offset)
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    inside = description->offset % pages_round(1);
    mapped = pages_map(external->pages, description->offset - inside,
                       description->size + inside, NULL, false);
    range = mapped ? range_add(RANGE_EXTERNAL, (uintptr_t)mapped + inside, description->size) : NULL;
    if (!range)
        RETURN_UNLOCKED(CUDA_ERROR_OUT_OF_MEMORY);
    range->pages = pages_hold(external->pages);
    range->bytes = external->pages->bytes + description->offset;
    range->context = context;
    range->device = context->device;
    *address = range->address;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuDestroyExternalMemory(CUexternalMemory handle)
{
    struct external **link, *found;

    RETURN_UNLESS_READY();
    driver_lock();
    link = find(handle);
    if ((found = *link)) {
        *link = found->next;
        pages_put(found->pages);
        free(found);
    }
    RETURN_UNLOCKED(found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}
