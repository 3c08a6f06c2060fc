/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands behind a Level Zero handle.
 *
 * A handle is the object's address. It is looked up in a table before it is followed, so a handle
 * that is wrong, of another kind, or already destroyed is an error code and never a crash. Objects
 * are counted: one that is destroyed while a submission still uses it lives until that is over.
 */
#pragma once

#include <level_zero/ze_api.h>
#include <stdatomic.h>

#include "../faults/faults.h"

/* What a function begins with, so that a test can let it fail. */
#define FAULT(function)                                                                            \
    do {                                                                                           \
        int status = softdevices_fault(#function, ZE_RESULT_ERROR_UNKNOWN);                        \
        if (status)                                                                                \
            return (ze_result_t)status;                                                            \
    } while (0)

enum object_kind {
    OBJECT_DRIVER,
    OBJECT_DEVICE,
    OBJECT_CONTEXT,
    OBJECT_COMMAND_QUEUE,
    OBJECT_COMMAND_LIST,
    OBJECT_FENCE,
    OBJECT_EVENT_POOL,
    OBJECT_EVENT,
    OBJECT_GRAPH,
    OBJECT_GRAPH_QUERY,
    OBJECT_BUILD_LOG,
    OBJECT_PROFILING_POOL,
    OBJECT_PROFILING_QUERY,
};

/* The first member of everything that has a handle. */
struct object {
    enum object_kind kind;
    atomic_uint references;
    void (*release)(void *object); /* frees it; NULL for what lives as long as the process */
    void (*restart)(void *object); /* in a forked child: new locks; NULL where there are none */
    struct object *next;           /* in the table's bucket */
};

/* Make `object` known as a handle; the table then holds its first reference. */
void object_publish(struct object *object, enum object_kind kind, void (*release)(void *));

/* Follow a handle: the object with one more reference, or NULL. */
void *object_get(const void *handle, enum object_kind kind);

/* One more reference to an object that is certainly alive. */
void *object_hold(void *object);

/* One reference less; NULL is allowed. */
void object_put(void *object);

/* Destroy a handle: nobody finds it any more, and the table's reference is given back. */
ze_result_t object_retire(const void *handle, enum object_kind kind);

/* Around fork(): nobody makes or destroys a handle meanwhile. */
void objects_lock(void);
void objects_unlock(void);
/* In the child, between the two: every object that has a handle gets new locks. */
void objects_restart(void);

/* What to answer for a handle that object_get() did not find. */
ze_result_t object_missing(const void *handle);

/* A local variable declared HELD gives its reference back at the end of its block. */
void object_put_variable(void *variable);
#define HELD __attribute__((cleanup(object_put_variable)))
