/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory itself: pages of a memfd.
 *
 * The driver reads and writes them through a mapping of its own. Programs get other mappings: of
 * pinned and managed memory ones that the CPU can use, of device memory ones that it cannot (PROT_NONE),
 * so that a program which reads a device pointer ends as it would on hardware.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct pages {
    unsigned references;
    int fd;
    size_t size; /* whole pages */
    char *bytes; /* the driver's mapping */
};

/* New pages for at least that many bytes, or NULL. All of these are called under the driver's lock. */
struct pages *pages_make(size_t size);
/* The pages behind a descriptor, which stays the caller's, or NULL: fewer than `size` bytes, or
 * bytes that cannot be mapped. */
struct pages *pages_of_descriptor(int fd, size_t size);
struct pages *pages_hold(struct pages *pages);
void pages_put(struct pages *pages);

/*
 * Map a part of them for the program.
 *
 * at: where, in addresses that the program reserved; NULL for anywhere.
 * Gives NULL if that cannot be.
 */
void *pages_map(const struct pages *pages, size_t offset, size_t size, void *at, bool for_cpu);

/* `size` rounded up to whole pages. */
size_t pages_round(size_t size);
