/* SPDX-License-Identifier: Apache-2.0 */
#include "mapping.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "../common/descriptor_size.h"
#include "trace.h"

void *softgpu_map_fd(int fd, size_t size, cl_int *error)
{
    off_t available = size_of_descriptor(fd);
    void *mapping;

    /* A real driver fails here too, where mmap would only fail at the first access. */
    if (!size || available < 0 || (uintmax_t)available < size) {
        softgpu_trace("descriptor %d has %lld bytes, %zu are wanted", fd, (long long)available,
                      size);
        softgpu_set_error(error, available < 0 ? CL_INVALID_PROPERTY : CL_INVALID_BUFFER_SIZE);
        return NULL;
    }
    mapping = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapping != MAP_FAILED)
        return mapping;
    softgpu_trace("descriptor %d cannot be mapped: %s", fd, strerror(errno));
    softgpu_set_error(error, CL_INVALID_PROPERTY);
    return NULL;
}
