/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses are whose: every allocation, registration and mapping of this driver is a range.
 * All functions are called under the driver's lock.
 */
#pragma once

#include "cuda_abi.h"
#include "pages.h"

#include <stdbool.h>

enum range_kind {
    RANGE_DEVICE,     /* cuMemAlloc */
    RANGE_PINNED,     /* cuMemHostAlloc, cuMemAllocHost */
    RANGE_MANAGED,    /* cuMemAllocManaged */
    RANGE_REGISTERED, /* cuMemHostRegister: memory of the program's own */
    RANGE_VMM,        /* cuMemMap */
    RANGE_EXTERNAL,   /* cuExternalMemoryGetMappedBuffer */
};

struct range {
    struct range *next;
    unsigned references; /* a copy that runs holds one, so that the bytes stay mapped meanwhile */
    enum range_kind kind;
    uintptr_t address;
    size_t size;
    uintptr_t around;    /* what POINTER_RANGE_* say: of VMM mappings the addresses reserved */
    size_t size_around;
    char *bytes;         /* where the driver finds them */
    struct pages *pages; /* NULL for registered memory */
    CUcontext context;   /* NULL for VMM mappings, which belong to none */
    CUdevice device;
    unsigned flags;              /* those of cuMemHostAlloc and cuMemHostRegister */
    int access;                  /* of VMM mappings: MEM_ACCESS_* */
    int handle_types;            /* that VMM memory can be exported as */
    bool gpu_direct;             /* VMM memory that was made for exporting as a DMA-BUF */
    bool sync_memops;            /* POINTER_SYNC_MEMOPS */
    unsigned long long number;   /* POINTER_BUFFER_ID */
};

/* A new range with one reference, which its owner's range_remove() gives back. */
struct range *range_add(enum range_kind kind, uintptr_t address, size_t size);

/* The range that has this address, or NULL. */
struct range *range_at(uintptr_t address);
/* The range that has all of these bytes, or NULL. */
struct range *range_of(uintptr_t address, size_t size);
/* Whether any range has any of these bytes. */
bool range_touches(uintptr_t address, size_t size);
/* The range that begins here, is of that kind, and belongs to nothing else; or NULL. */
struct range *range_from(uintptr_t address, enum range_kind kind);

/* Take it out: nobody finds it any more. The pages go with the last reference. */
void range_remove(struct range *range);
struct range *range_hold(struct range *range);
void range_put(struct range *range);

/* Remove all ranges of a context that ends. */
void ranges_remove_of(CUcontext context);

/* Bytes of device memory and managed memory on a device. */
size_t ranges_bytes_on(CUdevice device);
/* How many there are of a kind. */
unsigned ranges_count(enum range_kind kind);
