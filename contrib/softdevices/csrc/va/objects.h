/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a display, by their ids. */
#ifndef SOFTVA_OBJECTS_H
#define SOFTVA_OBJECTS_H

#include <stddef.h>
#include <va/va.h>

enum softva_kind {
    SOFTVA_CONFIG,
    SOFTVA_CONTEXT,
    SOFTVA_SURFACE,
    SOFTVA_BUFFER,
    SOFTVA_IMAGE,
};

/* What all objects begin with. Each lies in memory from calloc. */
struct softva_object {
    VAGenericID id;
    enum softva_kind kind;
};

/* Objects in the order of their ids. An id is given once in a process, whatever the display and
 * the kind: those of objects that are gone, or of another display, are never found. */
struct softva_table {
    struct softva_object **objects;
    size_t count, room;
};

/* Gives `object` an id and puts it in the table. */
VAStatus softva_table_add(struct softva_table *table, struct softva_object *object,
                          enum softva_kind kind);

/* Gives the object of this id and kind, or NULL. */
void *softva_table_find(const struct softva_table *table, VAGenericID id, enum softva_kind kind);

/* Takes `object` out of the table. Its memory stays. */
void softva_table_remove(struct softva_table *table, const struct softva_object *object);

#endif
