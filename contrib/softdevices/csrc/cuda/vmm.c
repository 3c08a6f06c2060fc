/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory management: allocations apart from addresses, and descriptors of them. */
#define _GNU_SOURCE
#include "config.h"
#include "driver.h"
#include "ranges.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* As of the GPUs of today. */
enum { GRANULARITY = 2 << 20 };

/* An allocation: it lives as long as its handle, or one of its mappings. */
struct allocation {
    struct allocation *next;
    unsigned handles;
    struct pages *pages;
    CUmemAllocationProp properties;
};

/* Addresses that were reserved. */
struct reservation {
    struct reservation *next;
    uintptr_t address;
    size_t size;
};

static struct allocation *allocations;
static struct reservation *reservations;

static struct allocation *find(CUmemGenericAllocationHandle handle)
{
    struct allocation *allocation = allocations;

    while (allocation && (uintptr_t)allocation != handle)
        allocation = allocation->next;
    return allocation;
}

static bool is_location(const CUmemLocation *location)
{
    return location->type == MEM_LOCATION_TYPE_DEVICE && location->id >= 0 &&
           location->id < config()->devices;
}

static CUresult check(const CUmemAllocationProp *properties)
{
    if (!properties || properties->type != MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (properties->location.type == MEM_LOCATION_TYPE_HOST)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!is_location(&properties->location))
        return CUDA_ERROR_INVALID_DEVICE;
    return properties->requestedHandleTypes & ~MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
               ? CUDA_ERROR_NOT_SUPPORTED
               : CUDA_SUCCESS;
}

EXPORT CUresult cuMemGetAllocationGranularity(size_t *granularity,
                                              const CUmemAllocationProp *properties, int option)
{
    CUresult result;

    RETURN_UNLESS_READY();
    if (!granularity || (option != 0 && option != 1)) /* minimum, recommended */
        return CUDA_ERROR_INVALID_VALUE;
    if ((result = check(properties)) == CUDA_SUCCESS)
        *granularity = GRANULARITY;
    return result;
}

EXPORT CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment,
                                    CUdeviceptr wanted, unsigned long long flags)
{
    struct reservation *reservation;
    char *space;
    uintptr_t start;

    (void)wanted;
    RETURN_UNLESS_READY();
    if (!address || !size || size % GRANULARITY || flags || (alignment & (alignment - 1)))
        return CUDA_ERROR_INVALID_VALUE;
    if (alignment < GRANULARITY)
        alignment = GRANULARITY;
    space = mmap(NULL, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED || !(reservation = malloc(sizeof *reservation)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    start = ((uintptr_t)space + alignment - 1) / alignment * alignment;
    if (start > (uintptr_t)space)
        munmap(space, start - (uintptr_t)space);
    munmap((void *)(start + size), (uintptr_t)space + alignment - start);
    driver_lock();
    *reservation = (struct reservation){reservations, start, size};
    reservations = reservation;
    *address = start;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuMemAddressFree(CUdeviceptr address, size_t size)
{
    struct reservation **link = &reservations, *found;

    RETURN_UNLESS_READY();
    driver_lock();
    while (*link && ((*link)->address != address || (*link)->size != size))
        link = &(*link)->next;
    if (!(found = *link) || range_touches(address, size))
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    *link = found->next;
    munmap((void *)found->address, found->size);
    free(found);
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

/* Takes the pages, which may be NULL. */
static CUresult publish(struct pages *pages, const CUmemAllocationProp *properties,
                        CUmemGenericAllocationHandle *handle)
{
    struct allocation *allocation = pages ? calloc(1, sizeof *allocation) : NULL;

    if (!allocation) {
        pages_put(pages);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    allocation->handles = 1;
    allocation->pages = pages;
    allocation->properties = *properties;
    allocation->next = allocations;
    allocations = allocation;
    *handle = (uintptr_t)allocation;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                            const CUmemAllocationProp *properties, unsigned long long flags)
{
    CUresult result;

    RETURN_UNLESS_READY();
    if (!handle || !size || size % GRANULARITY || flags)
        return CUDA_ERROR_INVALID_VALUE;
    if ((result = check(properties)) != CUDA_SUCCESS)
        return result;
    if (size > config()->memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    driver_lock();
    RETURN_UNLOCKED(publish(pages_make(size), properties, handle));
}

EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct allocation **link = &allocations, *found;

    RETURN_UNLESS_READY();
    driver_lock();
    while (*link && (uintptr_t)*link != handle)
        link = &(*link)->next;
    if (!(found = *link))
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    if (--found->handles == 0) {
        *link = found->next;
        pages_put(found->pages);
        free(found);
    }
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

static struct reservation *reservation_of(uintptr_t address, size_t size)
{
    struct reservation *reservation = reservations;

    while (reservation && !(address >= reservation->address &&
                            address + size <= reservation->address + reservation->size))
        reservation = reservation->next;
    return reservation;
}

EXPORT CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                         CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    struct allocation *allocation;
    struct reservation *reservation;
    struct range *range;

    RETURN_UNLESS_READY();
    if (!size || size % GRANULARITY || address % GRANULARITY || offset || flags)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    allocation = find(handle);
    reservation = reservation_of(address, size);
    if (!allocation || size > allocation->pages->size || !reservation ||
        range_touches(address, size))
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    if (!pages_map(allocation->pages, 0, size, (void *)address, false) ||
        !(range = range_add(RANGE_VMM, address, size)))
        RETURN_UNLOCKED(CUDA_ERROR_OUT_OF_MEMORY);
    range->pages = pages_hold(allocation->pages);
    range->bytes = allocation->pages->bytes;
    range->around = reservation->address;
    range->size_around = reservation->size;
    range->device = allocation->properties.location.id;
    range->handle_types = allocation->properties.requestedHandleTypes;
    range->gpu_direct = allocation->properties.allocFlags.gpuDirectRDMACapable;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t size)
{
    struct range *range;

    RETURN_UNLESS_READY();
    driver_lock();
    range = range_from(address, RANGE_VMM);
    if (!range || range->size != size)
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    range_remove(range);
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access,
                               size_t count)
{
    struct range *range;

    RETURN_UNLESS_READY();
    if (!access || !count)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    range = range_from(address, RANGE_VMM);
    if (!range || range->size != size)
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        if (!is_location(&access[i].location))
            RETURN_UNLOCKED(CUDA_ERROR_INVALID_DEVICE);
        /* Other devices have no access: there is none between devices. */
        if (access[i].location.id != range->device)
            RETURN_UNLOCKED(CUDA_ERROR_NOT_SUPPORTED);
        range->access = access[i].flags;
    }
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                               CUdeviceptr address)
{
    struct range *range;

    RETURN_UNLESS_READY();
    if (!flags || !location)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    range = range_at(address);
    if (!range || range->kind != RANGE_VMM)
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    *flags = location->id == range->device ? (unsigned long long)range->access : 0;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties,
                                                       CUmemGenericAllocationHandle handle)
{
    struct allocation *allocation;

    RETURN_UNLESS_READY();
    driver_lock();
    if ((allocation = find(handle)) && properties)
        *properties = allocation->properties;
    RETURN_UNLOCKED(allocation && properties ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
    struct range *range;
    struct allocation *allocation = NULL;

    RETURN_UNLESS_READY();
    driver_lock();
    range = range_at((uintptr_t)address);
    if (range && range->kind == RANGE_VMM)
        for (allocation = allocations; allocation; allocation = allocation->next)
            if (allocation->pages == range->pages)
                break;
    if (!allocation || !handle)
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    allocation->handles++;
    *handle = (uintptr_t)allocation;
    RETURN_UNLOCKED(CUDA_SUCCESS);
}

EXPORT CUresult cuMemExportToShareableHandle(void *shared, CUmemGenericAllocationHandle handle,
                                             int type, unsigned long long flags)
{
    struct allocation *allocation;
    int fd = -1;

    RETURN_UNLESS_READY();
    if (!shared || flags || type != MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    allocation = find(handle);
    if (!allocation || !(allocation->properties.requestedHandleTypes & type))
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    fd = fcntl(allocation->pages->fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0)
        memcpy(shared, &fd, sizeof fd);
    RETURN_UNLOCKED(fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
}

/* The descriptor stays the caller's. */
EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shared,
                                               int type)
{
    CUmemAllocationProp properties = {
        .type = MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {MEM_LOCATION_TYPE_DEVICE, 0},
    };
    struct pages *pages;

    RETURN_UNLESS_READY();
    if (!handle || type != MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    driver_lock();
    pages = pages_of_descriptor((int)(intptr_t)shared, 1);
    if (!pages || pages->size % GRANULARITY) {
        pages_put(pages);
        RETURN_UNLOCKED(CUDA_ERROR_INVALID_VALUE);
    }
    RETURN_UNLOCKED(publish(pages, &properties, handle));
}
