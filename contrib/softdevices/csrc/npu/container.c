/* SPDX-License-Identifier: Apache-2.0 */
#include "container.h"

#include <string.h>

#define PARTS 2

struct reader {
    const uint8_t *at;
    size_t left;
};

static bool take(struct reader *reader, size_t size, const uint8_t **out)
{
    if (size > reader->left)
        return false;
    *out = reader->at;
    reader->at += size;
    reader->left -= size;
    return true;
}

static bool take_sized(struct reader *reader, const uint8_t **out, size_t *size)
{
    const uint8_t *number;
    uint64_t value;
    if (!take(reader, sizeof value, &number))
        return false;
    memcpy(&value, number, sizeof value);
    *size = (size_t)value;
    return take(reader, *size, out);
}

bool container_read(const uint8_t *block, size_t size, struct container *container)
{
    struct reader reader = {block, size};
    const uint8_t *version, *number, *xml;
    uint32_t parts;
    if (!take(&reader, 4, &version) || !take(&reader, sizeof parts, &number))
        return false;
    memcpy(&parts, number, sizeof parts);
    if (parts != PARTS || !take_sized(&reader, &xml, &container->xml_size) ||
        !take_sized(&reader, &container->weights, &container->weights_size))
        return false;
    container->xml = (const char *)xml;
    while (container->xml_size > 0 && container->xml[container->xml_size - 1] == '\0')
        container->xml_size--;
    return true;
}
