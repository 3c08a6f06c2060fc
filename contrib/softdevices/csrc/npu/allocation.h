/* SPDX-License-Identifier: Apache-2.0 */
/* One allocation: where its memory comes from, and how it is given back. */
#pragma once

#include "context.h"

#include <stdatomic.h>
#include <stddef.h>

#define PAGE ((size_t)4096)

enum source { FROM_NOTHING, FROM_FD, FROM_HOST_MEMORY };

struct allocation {
    struct allocation *next;
    atomic_uint pins; /* 1 for the list of the context, 1 for each memory_pin() */
    char *base;
    size_t size;   /* of the buffer */
    size_t mapped; /* the same in whole pages; 0 if the mapping is not ours */
    int fd;        /* -1: not exportable */
    ze_memory_type_t type;
    uint64_t id;
    ze_device_handle_t device;
};

/* How an allocation is asked for, after its descriptors were read. */
struct request {
    struct context *context;
    const void *next;
    size_t size;
    size_t alignment;
    ze_memory_type_t type;
    ze_device_handle_t device;
    enum source source;
    bool exportable;
    int fd;
    void *host_memory;
};

/* Get the memory; NULL with the error. It is pinned once, for the caller. */
struct allocation *allocation_create(const struct request *request, ze_result_t *result);

/* Give back one pin; the last gives back the memory. NULL is allowed. */
void allocation_unpin(struct allocation *allocation);
