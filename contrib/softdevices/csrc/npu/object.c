/* SPDX-License-Identifier: Apache-2.0 */
#include "object.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define BUCKETS 1024

static struct object *table[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Objects are at least 16 bytes apart, so the lowest bits carry no information. */
static struct object **bucket_of(const void *handle)
{
    return &table[((uintptr_t)handle >> 4) % BUCKETS];
}

/* The link that points to the object, or to NULL; the lock is held. */
static struct object **find(const void *handle, enum object_kind kind)
{
    struct object **link = bucket_of(handle);
    while (*link && ((const void *)*link != handle || (*link)->kind != kind))
        link = &(*link)->next;
    return link;
}

void object_publish(struct object *object, enum object_kind kind, void (*release)(void *))
{
    object->kind = kind;
    object->release = release;
    atomic_init(&object->references, 1);
    pthread_mutex_lock(&lock);
    struct object **bucket = bucket_of(object);
    object->next = *bucket;
    *bucket = object;
    pthread_mutex_unlock(&lock);
}

void *object_get(const void *handle, enum object_kind kind)
{
    if (!handle)
        return NULL;
    pthread_mutex_lock(&lock);
    struct object *object = *find(handle, kind);
    if (object)
        atomic_fetch_add(&object->references, 1);
    pthread_mutex_unlock(&lock);
    return object;
}

void *object_hold(void *object)
{
    atomic_fetch_add(&((struct object *)object)->references, 1);
    return object;
}

void object_put(void *pointer)
{
    struct object *object = pointer;
    if (!object || atomic_fetch_sub(&object->references, 1) != 1)
        return;
    if (object->release)
        object->release(object);
}

ze_result_t object_retire(const void *handle, enum object_kind kind)
{
    pthread_mutex_lock(&lock);
    struct object **link = find(handle, kind);
    struct object *object = handle ? *link : NULL;
    if (object)
        *link = object->next;
    pthread_mutex_unlock(&lock);
    if (!object)
        return object_missing(handle);
    object_put(object);
    return ZE_RESULT_SUCCESS;
}

void objects_lock(void)
{
    pthread_mutex_lock(&lock);
}

void objects_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void objects_restart(void)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct object *object = table[i]; object; object = object->next)
            if (object->restart)
                object->restart(object);
}

ze_result_t object_missing(const void *handle)
{
    return handle ? ZE_RESULT_ERROR_INVALID_ARGUMENT : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

void object_put_variable(void *variable)
{
    object_put(*(void **)variable);
}
