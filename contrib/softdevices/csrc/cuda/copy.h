/* SPDX-License-Identifier: Apache-2.0 */
/* Where bytes are that a copy or a fill works on. */
#pragma once

#include "ranges.h"

#include <stdbool.h>

/*
 * The driver's own address of so many bytes.
 *
 * range: gets the range, with a reference, or NULL for pageable memory of the host.
 * Gives NULL where there is no such memory: a device pointer (`is_device`) that nobody allocated,
 * or bytes beyond an allocation. Called under the driver's lock.
 */
char *bytes_of(uintptr_t address, size_t size, bool is_device, struct range **range);
