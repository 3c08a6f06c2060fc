/* SPDX-License-Identifier: Apache-2.0 */
#include "handle_map.h"

#include <stdint.h>
#include <stdlib.h>

struct softgpu_map_entry {
    const void *handle;
    void *record;
    struct softgpu_map_entry *next;
};

static struct softgpu_map_entry **bucket(struct softgpu_map *map, const void *handle)
{
    /* Handles are addresses of heap objects: the lowest bits are always zero. */
    return &map->buckets[((uintptr_t)handle >> 4) % SOFTGPU_MAP_BUCKETS];
}

/* The link that points to the entry of `handle`, or the one that ends its bucket. */
static struct softgpu_map_entry **find(struct softgpu_map *map, const void *handle)
{
    struct softgpu_map_entry **link = bucket(map, handle);

    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

bool softgpu_map_put(struct softgpu_map *map, const void *handle, void *record)
{
    struct softgpu_map_entry *entry = malloc(sizeof *entry);
    struct softgpu_map_entry **link;

    if (!entry)
        return false;
    entry->handle = handle;
    entry->record = record;
    pthread_mutex_lock(&map->lock);
    link = bucket(map, handle);
    entry->next = *link;
    *link = entry;
    pthread_mutex_unlock(&map->lock);
    return true;
}

void *softgpu_map_get(struct softgpu_map *map, const void *handle)
{
    struct softgpu_map_entry *entry;
    void *record;

    pthread_mutex_lock(&map->lock);
    entry = *find(map, handle);
    record = entry ? entry->record : NULL;
    pthread_mutex_unlock(&map->lock);
    return record;
}

void *softgpu_map_take(struct softgpu_map *map, const void *handle)
{
    struct softgpu_map_entry **link;
    struct softgpu_map_entry *entry;
    void *record = NULL;

    pthread_mutex_lock(&map->lock);
    link = find(map, handle);
    entry = *link;
    if (entry) {
        *link = entry->next;
        record = entry->record;
        free(entry);
    }
    pthread_mutex_unlock(&map->lock);
    return record;
}
