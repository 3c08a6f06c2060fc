/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "device.h"
#include "object.h"

#include <pthread.h>

struct allocation;

struct context {
    struct object object;
    struct driver *driver;
    pthread_mutex_t mutex;
    struct allocation *allocations; /* newest first */
    uint64_t allocated;             /* bytes, for those who ask the graph extension */
};
