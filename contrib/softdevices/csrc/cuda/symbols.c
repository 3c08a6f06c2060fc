/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "symbols.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/*
 * Names whose meaning depends on the version that the caller was made for: the functions with other
 * arguments than those which have the highest suffix here. All other names mean the newest function
 * of this driver.
 */
static const struct {
    const char *name;
    int since; /* CUDA's version */
    const char *function;
} versions[] = {
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},
    {"cuCtxCreate", 11040, "softcuda_unsupported"}, /* cuCtxCreate_v3: execution affinity */
    {"cuCtxCreate", 0, "cuCtxCreate_v2"},
    {"cuCtxSynchronize", 13000, "cuCtxSynchronize_v2"},
    {"cuCtxSynchronize", 0, "cuCtxSynchronize"},
    {"cuCtxGetDevice", 13000, "cuCtxGetDevice_v2"},
    {"cuCtxGetDevice", 0, "cuCtxGetDevice"},
    {"cuStreamGetCtx", 12050, "cuStreamGetCtx_v2"},
    {"cuStreamGetCtx", 0, "cuStreamGetCtx"},
};

/* Exported functions of this library alone: another libcuda may be in the process. */
static void *exported(const char *name)
{
    static void *self;
    Dl_info where;

    if (!self && dladdr((void *)exported, &where))
        self = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return self ? dlsym(self, name) : NULL;
}

void *symbol_find(const char *name, int version)
{
    char suffixed[128];
    void *found;

    if (strncmp(name, "cu", 2) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (strcmp(name, versions[i].name) == 0 && version >= versions[i].since)
            return exported(versions[i].function);
    snprintf(suffixed, sizeof suffixed, "%s_v2", name);
    if ((found = exported(suffixed)) || (found = exported(name)))
        return found;
    return exported("softcuda_unsupported");
}
