/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptors.h"

#include <stdlib.h>
#include <sys/stat.h>

void softva_descriptors_forget(struct softva_descriptors *descriptors, int fd)
{
    for (size_t i = 0; i < descriptors->count; i++)
        if (descriptors->list[i].fd == fd)
            descriptors->list[i] = descriptors->list[--descriptors->count];
}

static bool has_room(struct softva_descriptors *descriptors)
{
    size_t room = descriptors->room ? 2 * descriptors->room : 16;
    struct softva_descriptor *grown;

    if (descriptors->count < descriptors->room)
        return true;
    grown = realloc(descriptors->list, room * sizeof *grown);
    if (!grown)
        return false;
    descriptors->list = grown;
    descriptors->room = room;
    return true;
}

void softva_descriptors_add(struct softva_descriptors *descriptors, int fd, VAGenericID surface)
{
    struct stat status;

    softva_descriptors_forget(descriptors, fd);
    if (fstat(fd, &status) != 0 || !has_room(descriptors))
        return;
    descriptors->list[descriptors->count++] = (struct softva_descriptor){
        .fd = fd, .surface = surface, .device = status.st_dev, .inode = status.st_ino};
}

void softva_descriptors_prune(struct softva_descriptors *descriptors)
{
    size_t kept = 0;

    for (size_t i = 0; i < descriptors->count; i++) {
        struct softva_descriptor *descriptor = &descriptors->list[i];
        struct stat status;

        /* Its number may stand for something else by now. */
        if (fstat(descriptor->fd, &status) == 0 && status.st_dev == descriptor->device &&
            status.st_ino == descriptor->inode)
            descriptors->list[kept++] = *descriptor;
    }
    descriptors->count = kept;
}

void softva_descriptors_free(struct softva_descriptors *descriptors)
{
    free(descriptors->list);
}
