/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_uint last_id;

/* The place of the first object whose id is not below `id`. */
static size_t place_of(const struct softva_table *table, VAGenericID id)
{
    size_t low = 0, high = table->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (table->objects[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int has_room(struct softva_table *table)
{
    size_t room = table->room ? 2 * table->room : 64;
    struct softva_object **grown;

    if (table->count < table->room)
        return 1;
    grown = realloc(table->objects, room * sizeof *grown);
    if (!grown)
        return 0;
    table->objects = grown;
    table->room = room;
    return 1;
}

VAStatus softva_table_add(struct softva_table *table, struct softva_object *object,
                          enum softva_kind kind)
{
    if (!has_room(table))
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    /* The table's display is locked, so that no greater id can be in it: new ones go last. */
    object->id = atomic_fetch_add(&last_id, 1) + 1;
    object->kind = kind;
    table->objects[table->count++] = object;
    return VA_STATUS_SUCCESS;
}

void *softva_table_find(const struct softva_table *table, VAGenericID id, enum softva_kind kind)
{
    size_t place = place_of(table, id);

    if (place == table->count || table->objects[place]->id != id ||
        table->objects[place]->kind != kind)
        return NULL;
    return table->objects[place];
}

void softva_table_remove(struct softva_table *table, const struct softva_object *object)
{
    size_t place = place_of(table, object->id);

    table->count--;
    memmove(&table->objects[place], &table->objects[place + 1],
            (table->count - place) * sizeof *table->objects);
}
