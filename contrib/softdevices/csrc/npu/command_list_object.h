/* SPDX-License-Identifier: Apache-2.0 */
/* What a command list is made of, for the two files that are about it. */
#pragma once

#include "command_list.h"
#include "queue.h"

struct command_list {
    struct object object;
    struct context *context;
    struct device *device;
    struct queue *queue; /* of an immediate list, else NULL */
    pthread_mutex_t mutex;
    struct commands recorded;
    uint64_t next_id; /* for the next command, 0 if nobody asked */
    bool is_closed;
};
