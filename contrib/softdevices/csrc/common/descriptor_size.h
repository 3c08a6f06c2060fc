/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory is behind a descriptor that a program hands over. */
#ifndef COMMON_DESCRIPTOR_SIZE_H
#define COMMON_DESCRIPTOR_SIZE_H

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* Bytes behind a descriptor; negative if it has none, or their number is unknown. */
static inline off_t size_of_descriptor(int fd)
{
    struct stat status;
    off_t size;

    if (fstat(fd, &status) != 0)
        return -1;
    /* lseek reports the size of a DMA-BUF; fstat does so in newer kernels only. The position in a
     * file would move, but a file has a size. */
    if (status.st_size > 0)
        return status.st_size;
    size = lseek(fd, 0, SEEK_END);
    lseek(fd, 0, SEEK_SET);
    return size;
}

#endif
