/* SPDX-License-Identifier: Apache-2.0 */
/* A thread-safe map from OpenCL handles to what the layer knows about them.
 *
 * A record is valid as long as its handle is: whoever asks for a handle's record holds a reference
 * to the handle, and the record goes when the last reference went. */
#ifndef SOFTGPU_HANDLE_MAP_H
#define SOFTGPU_HANDLE_MAP_H

#include <pthread.h>
#include <stdbool.h>

enum { SOFTGPU_MAP_BUCKETS = 256 };

struct softgpu_map_entry;

struct softgpu_map {
    pthread_mutex_t lock;
    struct softgpu_map_entry *buckets[SOFTGPU_MAP_BUCKETS];
};

#define SOFTGPU_MAP_INIT { .lock = PTHREAD_MUTEX_INITIALIZER }

/* Adds a record; false if there is no memory. */
bool softgpu_map_put(struct softgpu_map *map, const void *handle, void *record);

/* Gives the record of `handle`, or NULL. */
void *softgpu_map_get(struct softgpu_map *map, const void *handle);

/* Removes the record of `handle` and gives it, or NULL. */
void *softgpu_map_take(struct softgpu_map *map, const void *handle);

#endif
