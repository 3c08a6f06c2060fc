/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "drm_codes.h"

enum { MAX_PITCH_ALIGN = 65536, DEFAULT_PITCH_ALIGN = 64 };

static bool read_memory(enum softva_memory_source *source)
{
    static const char *const names[] = {
        [SOFTVA_MEMORY_UDMABUF] = "udmabuf",
        [SOFTVA_MEMORY_HEAP] = "heap",
        [SOFTVA_MEMORY_MEMFD] = "memfd",
    };
    const char *text = getenv("SOFTVA_MEMORY");

    *source = SOFTVA_MEMORY_ANY;
    if (!text || !*text)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] && strcmp(text, names[i]) == 0)
            *source = (enum softva_memory_source)i;
    return *source != SOFTVA_MEMORY_ANY;
}

static bool read_pitch_align(uint32_t *align)
{
    const char *text = getenv("SOFTVA_PITCH_ALIGN");
    char *end;
    unsigned long value;

    *align = DEFAULT_PITCH_ALIGN;
    if (!text || !*text)
        return true;
    value = strtoul(text, &end, 10);
    if (*end || !value || value > MAX_PITCH_ALIGN || (value & (value - 1)))
        return false;
    *align = (uint32_t)value;
    return true;
}

/* A variable that has one value besides none. */
static bool read_switch(const char *name, const char *on, bool *is_on)
{
    const char *text = getenv(name);

    *is_on = text && strcmp(text, on) == 0;
    return *is_on || !text || !*text;
}

const char *softva_options_read(struct softva_options *options)
{
    const char *trace = getenv("SOFTVA_TRACE");
    bool tiled;

    options->trace = trace && strcmp(trace, "1") == 0;
    if (!read_memory(&options->memory))
        return "SOFTVA_MEMORY";
    if (!read_pitch_align(&options->pitch_align))
        return "SOFTVA_PITCH_ALIGN";
    if (!read_switch("SOFTVA_TILING", "y", &tiled))
        return "SOFTVA_TILING";
    options->modifier = tiled ? SOFTVA_MODIFIER_Y_TILED : SOFTVA_MODIFIER_LINEAR;
    if (!read_switch("SOFTVA_OBJECTS", "separate", &options->separate_objects))
        return "SOFTVA_OBJECTS";
    if (!read_switch("SOFTVA_LAYERS", "separate", &options->separate_layers))
        return "SOFTVA_LAYERS";
    return NULL;
}
