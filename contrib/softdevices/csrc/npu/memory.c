/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "memory.h"

#include "allocation.h"
#include "newer_abi.h"
#include "trace.h"

#include <fcntl.h>

static const char *const type_names[] = {"unknown", "host", "device", "shared"};

/* The mutex of the context is held. */
static struct allocation *find(const struct context *context, const void *pointer)
{
    const char *at = pointer;
    for (struct allocation *a = context->allocations; a; a = a->next)
        if (at >= a->base && at < a->base + a->size)
            return a;
    return NULL;
}

struct allocation *memory_pin(struct context *context, const void *pointer, size_t size)
{
    pthread_mutex_lock(&context->mutex);
    struct allocation *found = find(context, pointer);
    if (found && size > found->size - (size_t)((const char *)pointer - found->base))
        found = NULL;
    if (found)
        atomic_fetch_add(&found->pins, 1);
    pthread_mutex_unlock(&context->mutex);
    return found;
}

bool memory_is_known(struct context *context, const void *pointer, size_t size)
{
    struct allocation *allocation = memory_pin(context, pointer, size);
    allocation_unpin(allocation);
    /* A GPU reads and writes plain host memory too, an NPU does not. */
    return allocation || !context->driver->device->is_npu;
}

void memory_free_all(struct context *context)
{
    while (context->allocations) {
        struct allocation *first = context->allocations;
        context->allocations = first->next;
        allocation_unpin(first);
    }
}

uint64_t memory_allocated(struct context *context)
{
    pthread_mutex_lock(&context->mutex);
    uint64_t bytes = context->allocated;
    pthread_mutex_unlock(&context->mutex);
    return bytes;
}

/* Read the first structure of the pNext chain into the request; others do not count. */
static ze_result_t read_extension(struct request *request)
{
    const ze_base_desc_t *extension = request->next;
    if (!extension)
        return ZE_RESULT_SUCCESS;
    switch ((uint32_t)extension->stype) {
    case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC:
        if (((const ze_external_memory_export_desc_t *)request->next)->flags !=
            ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF)
            return ZE_RESULT_ERROR_INVALID_ENUMERATION;
        request->exportable = true;
        return ZE_RESULT_SUCCESS;
    case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD:
        if (((const ze_external_memory_import_fd_t *)request->next)->flags !=
            ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF)
            return ZE_RESULT_ERROR_INVALID_ENUMERATION;
        request->source = FROM_FD;
        request->fd = ((const ze_external_memory_import_fd_t *)request->next)->fd;
        return ZE_RESULT_SUCCESS;
    case SOFTNPU_STYPE_MEMMAP_SYSMEM: {
        const struct softnpu_memmap_sysmem *sysmem = request->next;
        if (request->type != ZE_MEMORY_TYPE_HOST)
            return ZE_RESULT_SUCCESS;
        request->source = FROM_HOST_MEMORY;
        request->host_memory = sysmem->memory;
        request->size = sysmem->size;
        return ZE_RESULT_SUCCESS;
    }
    default:
        return ZE_RESULT_SUCCESS;
    }
}

/* Put the allocation on the context's list; refused where host memory is known already. */
static bool enlist(struct context *context, struct allocation *allocation, enum source source)
{
    pthread_mutex_lock(&context->mutex);
    const bool known = source == FROM_HOST_MEMORY && find(context, allocation->base);
    if (!known) {
        allocation->next = context->allocations;
        context->allocations = allocation;
        context->allocated += allocation->size;
    }
    pthread_mutex_unlock(&context->mutex);
    return !known;
}

static void trace_allocation(const struct request *request, const struct allocation *allocation)
{
    static const char *const sources[] = {"fresh", "fd", "host"};
    trace("mem_alloc context=%p pointer=%p id=%llu type=%s size=%zu from=%s exportable=%d fd=%d",
          (void *)request->context, (void *)allocation->base, (unsigned long long)allocation->id,
          type_names[allocation->type], allocation->size, sources[request->source],
          allocation->fd >= 0, request->source == FROM_FD ? request->fd : -1);
}

static ze_result_t allocate(struct request *request, void **out)
{
    if (!out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *out = NULL;
    ze_result_t result = read_extension(request);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (request->size == 0 || request->size > MEMORY_TOTAL)
        return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    if (request->alignment & (request->alignment - 1))
        return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;

    struct allocation *allocation = allocation_create(request, &result);
    if (!allocation)
        return result;
    if (!enlist(request->context, allocation, request->source)) {
        allocation_unpin(allocation);
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    *out = allocation->base;
    trace_allocation(request, allocation);
    return ZE_RESULT_SUCCESS;
}

static bool host_flags_are_known(ze_host_mem_alloc_flags_t flags)
{
    const ze_host_mem_alloc_flags_t known =
        ZE_HOST_MEM_ALLOC_FLAG_BIAS_CACHED | ZE_HOST_MEM_ALLOC_FLAG_BIAS_UNCACHED |
        ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED | ZE_HOST_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT;
    return (flags & ~known) == 0;
}

ze_result_t zeMemAllocHost(ze_context_handle_t handle, const ze_host_mem_alloc_desc_t *descriptor,
                           size_t size, size_t alignment, void **out)
{
    FAULT(zeMemAllocHost);
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    if (!context)
        return object_missing(handle);
    if (!descriptor)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!host_flags_are_known(descriptor->flags))
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    struct request request = {.context = context,
                              .next = descriptor->pNext,
                              .size = size,
                              .alignment = alignment,
                              .type = ZE_MEMORY_TYPE_HOST};
    return allocate(&request, out);
}

ze_result_t zeMemAllocDevice(ze_context_handle_t handle,
                             const ze_device_mem_alloc_desc_t *descriptor, size_t size,
                             size_t alignment, ze_device_handle_t device_handle, void **out)
{
    FAULT(zeMemAllocDevice);
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    HELD struct device *device = object_get(device_handle, OBJECT_DEVICE);
    if (!context)
        return object_missing(handle);
    if (!device)
        return object_missing(device_handle);
    if (!descriptor)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    struct request request = {.context = context,
                              .next = descriptor->pNext,
                              .size = size,
                              .alignment = alignment,
                              .type = ZE_MEMORY_TYPE_DEVICE,
                              .device = device_handle};
    return allocate(&request, out);
}

ze_result_t zeMemAllocShared(ze_context_handle_t handle,
                             const ze_device_mem_alloc_desc_t *on_device,
                             const ze_host_mem_alloc_desc_t *on_host, size_t size, size_t alignment,
                             ze_device_handle_t device_handle, void **out)
{
    FAULT(zeMemAllocShared);
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    HELD struct device *device = object_get(device_handle, OBJECT_DEVICE);
    if (!context)
        return object_missing(handle);
    if (device_handle && !device) /* NULL: shared between all devices */
        return object_missing(device_handle);
    if (!on_device || !on_host)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!host_flags_are_known(on_host->flags))
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    struct request request = {.context = context,
                              .next = on_device->pNext,
                              .size = size,
                              .alignment = alignment,
                              .type = ZE_MEMORY_TYPE_SHARED,
                              .device = device_handle};
    return allocate(&request, out);
}

ze_result_t zeMemFree(ze_context_handle_t handle, void *pointer)
{
    FAULT(zeMemFree);
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    if (!context)
        return object_missing(handle);
    if (!pointer)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    pthread_mutex_lock(&context->mutex);
    struct allocation **link = &context->allocations;
    while (*link && (*link)->base != pointer)
        link = &(*link)->next;
    struct allocation *allocation = *link;
    if (allocation) {
        *link = allocation->next;
        context->allocated -= allocation->size;
    }
    pthread_mutex_unlock(&context->mutex);
    if (!allocation)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    trace("mem_free context=%p pointer=%p id=%llu", (void *)context, pointer,
          (unsigned long long)allocation->id);
    allocation_unpin(allocation);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemFreeExt(ze_context_handle_t handle, const ze_memory_free_ext_desc_t *descriptor,
                         void *pointer)
{
    FAULT(zeMemFreeExt);
    /* Both policies are ours already: memory that a submission uses goes when that is over. */
    return descriptor ? zeMemFree(handle, pointer) : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}

/* Give the caller its own descriptor, if it asked for one in the way that counts. */
static ze_result_t export_fd(const struct allocation *allocation, void *next)
{
    ze_external_memory_export_fd_t *wanted = next;
    if (!wanted || wanted->stype != ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD ||
        wanted->flags != ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF)
        return ZE_RESULT_SUCCESS;
    if (allocation->fd < 0)
        return ZE_RESULT_ERROR_NOT_AVAILABLE;
    const int fd = fcntl(allocation->fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return ZE_RESULT_ERROR_NOT_AVAILABLE;
    wanted->fd = fd;
    trace("mem_export pointer=%p id=%llu fd=%d", (void *)allocation->base,
          (unsigned long long)allocation->id, fd);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetAllocProperties(ze_context_handle_t handle, const void *pointer,
                                    ze_memory_allocation_properties_t *properties,
                                    ze_device_handle_t *device)
{
    FAULT(zeMemGetAllocProperties);
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    if (!context)
        return object_missing(handle);
    if (!pointer || !properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    struct allocation *allocation = memory_pin(context, pointer, 0);
    properties->type = allocation ? allocation->type : ZE_MEMORY_TYPE_UNKNOWN;
    properties->id = allocation ? allocation->id : 0;
    properties->pageSize = allocation ? PAGE : 0;
    if (device)
        *device = allocation ? allocation->device : NULL;
    if (!allocation)
        /* Intel's NPU driver makes it an error, its GPU driver only says "unknown". */
        return context->driver->device->is_npu ? ZE_RESULT_ERROR_NOT_AVAILABLE : ZE_RESULT_SUCCESS;
    ze_result_t result = export_fd(allocation, properties->pNext);
    allocation_unpin(allocation);
    return result;
}

ze_result_t zeMemGetAddressRange(ze_context_handle_t handle, const void *pointer, void **base,
                                 size_t *size)
{
    FAULT(zeMemGetAddressRange);
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    if (!context)
        return object_missing(handle);
    if (!pointer)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    struct allocation *allocation = memory_pin(context, pointer, 0);
    if (!allocation)
        return ZE_RESULT_ERROR_NOT_AVAILABLE;
    if (base)
        *base = allocation->base;
    if (size)
        *size = allocation->size;
    allocation_unpin(allocation);
    return ZE_RESULT_SUCCESS;
}
