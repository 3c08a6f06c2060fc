/* SPDX-License-Identifier: Apache-2.0 */
/* The file descriptors that a display exported, so that leaks can be reported. */
#ifndef SOFTVA_DESCRIPTORS_H
#define SOFTVA_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <va/va.h>

struct softva_descriptor {
    int fd;
    VAGenericID surface;
    dev_t device;
    ino_t inode;
};

struct softva_descriptors {
    struct softva_descriptor *list;
    size_t count, room;
};

/* Remembers a descriptor that the program now owns. An older one of the same number was closed.
 * Without memory it is not remembered. */
void softva_descriptors_add(struct softva_descriptors *descriptors, int fd, VAGenericID surface);

/* Forgets the descriptor of this number, which the driver itself now has. */
void softva_descriptors_forget(struct softva_descriptors *descriptors, int fd);

/* Forgets those that are closed by now. */
void softva_descriptors_prune(struct softva_descriptors *descriptors);

void softva_descriptors_free(struct softva_descriptors *descriptors);

#endif
