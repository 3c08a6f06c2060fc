/* SPDX-License-Identifier: Apache-2.0 */
#include "extension_string.h"

#include <stdlib.h>
#include <string.h>

/* Sub-groups of the CPU runtime lie along the first dimension only. OpenVINO's kernels with block
 * reads compile and then compute wrong numbers; without these extensions it takes plain kernels. */
static const char *const hidden[] = {
    "cl_intel_subgroups",
    "cl_intel_subgroups_short",
    "cl_intel_subgroups_char",
    "cl_intel_subgroups_long",
    "cl_intel_spirv_subgroups",
    "cl_intel_subgroup_local_block_io",
    "cl_intel_required_subgroup_size",
    "cl_khr_subgroups",
};

/* What this layer adds; the versions are those of the extensions' specifications. */
static const cl_name_version added[] = {
    {CL_MAKE_VERSION(1, 0, 1), "cl_khr_external_memory"},
    {CL_MAKE_VERSION(1, 0, 1), "cl_khr_external_memory_dma_buf"},
    {CL_MAKE_VERSION(1, 0, 0), "cl_intel_va_api_media_sharing"},
};

enum {
    HIDDEN_COUNT = sizeof hidden / sizeof *hidden,
    ADDED_COUNT = sizeof added / sizeof *added,
};

static bool is_hidden(const char *name, size_t length)
{
    for (size_t i = 0; i < HIDDEN_COUNT; i++)
        if (strlen(hidden[i]) == length && strncmp(hidden[i], name, length) == 0)
            return true;
    return false;
}

static char *append(char *end, const char *name, size_t length)
{
    memcpy(end, name, length);
    end[length] = ' ';
    return end + length + 1;
}

char *softgpu_extension_string(const char *real)
{
    size_t room = strlen(real) + 2;
    char *shown, *end;

    for (size_t i = 0; i < ADDED_COUNT; i++)
        room += strlen(added[i].name) + 1;
    shown = end = malloc(room);
    if (!shown)
        return NULL;
    for (const char *name = real; *name;) {
        size_t length = strcspn(name, " ");

        if (length && !is_hidden(name, length))
            end = append(end, name, length);
        name += length;
        name += strspn(name, " ");
    }
    for (size_t i = 0; i < ADDED_COUNT; i++)
        end = append(end, added[i].name, strlen(added[i].name));
    /* In place of the last space: something was added, so there is one. */
    end[-1] = '\0';
    return shown;
}

cl_name_version *softgpu_extension_versions(const cl_name_version *real, size_t count,
                                            size_t *count_ret)
{
    cl_name_version *shown = calloc(count + ADDED_COUNT, sizeof *shown);
    size_t kept = 0;

    if (!shown)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_hidden(real[i].name, strnlen(real[i].name, CL_NAME_VERSION_MAX_NAME_SIZE)))
            shown[kept++] = real[i];
    memcpy(shown + kept, added, sizeof added);
    *count_ret = kept + ADDED_COUNT;
    return shown;
}
