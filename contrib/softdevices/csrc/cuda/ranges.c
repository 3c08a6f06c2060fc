/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "ranges.h"

#include <stdlib.h>
#include <sys/mman.h>

static struct range *first;
static unsigned long long last_number;

struct range *range_add(enum range_kind kind, uintptr_t address, size_t size)
{
    struct range *range = calloc(1, sizeof *range);

    if (!range)
        return NULL;
    range->references = 1;
    range->kind = kind;
    range->address = range->around = address;
    range->size = range->size_around = size;
    range->number = ++last_number;
    range->next = first;
    first = range;
    return range;
}

struct range *range_at(uintptr_t address)
{
    struct range *range = first;

    while (range && !(address >= range->address && address - range->address < range->size))
        range = range->next;
    return range;
}

struct range *range_of(uintptr_t address, size_t size)
{
    struct range *range = range_at(address);

    return range && size <= range->size - (address - range->address) ? range : NULL;
}

bool range_touches(uintptr_t address, size_t size)
{
    for (struct range *range = first; range; range = range->next)
        if (address < range->address + range->size && range->address < address + size)
            return true;
    return false;
}

struct range *range_from(uintptr_t address, enum range_kind kind)
{
    struct range *range = range_at(address);

    return range && range->address == address && range->kind == kind ? range : NULL;
}

struct range *range_hold(struct range *range)
{
    range->references++;
    return range;
}

void range_put(struct range *range)
{
    if (!range || --range->references)
        return;
    pages_put(range->pages);
    free(range);
}

void range_remove(struct range *range)
{
    struct range **link = &first;

    while (*link != range)
        link = &(*link)->next;
    *link = range->next;
    if (range->kind == RANGE_VMM)
        /* The addresses stay reserved. */
        mmap((void *)range->address, pages_round(range->size), PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    else if (range->kind != RANGE_REGISTERED)
        munmap((void *)(range->address & ~(uintptr_t)(pages_round(1) - 1)),
               pages_round(range->size + range->address % pages_round(1)));
    range_put(range);
}

void ranges_remove_of(CUcontext context)
{
    struct range *range = first;

    while (range) {
        struct range *next = range->next;

        if (range->context == context)
            range_remove(range);
        range = next;
    }
}

size_t ranges_bytes_on(CUdevice device)
{
    size_t bytes = 0;

    for (struct range *range = first; range; range = range->next)
        if (range->device == device &&
            (range->kind == RANGE_DEVICE || range->kind == RANGE_MANAGED))
            bytes += range->size;
    return bytes;
}

unsigned ranges_count(enum range_kind kind)
{
    unsigned count = 0;

    for (struct range *range = first; range; range = range->next)
        count += range->kind == kind;
    return count;
}
