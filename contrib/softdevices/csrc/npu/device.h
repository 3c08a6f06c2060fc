/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers and their devices: one driver with one device each for the NPU and the GPU. */
#pragma once

#include "object.h"

#include <stdbool.h>
#include <stddef.h>

struct device {
    struct object object;
    bool is_npu;
    ze_device_type_t type;
    const char *name;
    const char *uuid; /* 16 characters */
    uint32_t device_id;
    uint32_t pci_device; /* of the address 0000:00:xx.0 */
    uint32_t tiles;
    size_t largest_fill_pattern;
};

struct driver {
    struct object object;
    struct device *device;
};

#define MEMORY_TOTAL (1ull << 32)

/* Fill `drivers` (room for two) with those that SOFTNPU_DEVICES names; gives their number. */
uint32_t drivers_present(struct driver **drivers);

/*
 * Level Zero's way to hand out a list of handles: with *count 0 (or no array) say how many there
 * are, else write at most *count of them.
 */
ze_result_t give_handles(uint32_t *count, void *handles, void *const *available, uint32_t number);
