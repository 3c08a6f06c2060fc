/* SPDX-License-Identifier: Apache-2.0 */
/* Stands before libdrm, for processes in which /dev/null is to be a render node: that is all that
 * vaGetDisplayDRM and programs around it ask about a display of the software VA-API driver. All
 * other descriptors are left to libdrm. */
/* For RTLD_NEXT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define EXPORT __attribute__((visibility("default")))

/* From libdrm's xf86drm.h. */
enum { DRM_NODE_RENDER = 2 };

struct drm_version {
    int version_major, version_minor, version_patchlevel;
    int name_length;
    char *name;
    int date_length;
    char *date;
    int description_length;
    char *description;
};

EXPORT int drmGetNodeTypeFromFd(int fd);
EXPORT struct drm_version *drmGetVersion(int fd);

/* Linux' list of devices, Documentation/admin-guide/devices.txt: 1:3 is /dev/null. */
static int is_null(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
           status.st_rdev == makedev(1, 3);
}

/* libdrm's own function. In a program that opened libdrm for itself alone, as Python's ctypes does,
 * it is not among what comes next. */
static void *libdrm_function(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    void *libdrm = found ? NULL : dlopen("libdrm.so.2", RTLD_LAZY);

    return libdrm ? dlsym(libdrm, name) : found;
}

int drmGetNodeTypeFromFd(int fd)
{
    int (*next)(int) = NULL;

    if (is_null(fd))
        return DRM_NODE_RENDER;
    *(void **)&next = libdrm_function("drmGetNodeTypeFromFd");
    return next ? next(fd) : -1;
}

/* drmFreeVersion frees each text and the structure, with free. */
static struct drm_version *make_version(void)
{
    struct drm_version *version = calloc(1, sizeof *version);

    if (!version)
        return NULL;
    version->version_major = 1;
    version->name = strdup("softva");
    version->date = strdup("0");
    version->description = strdup("samebytes software VA-API driver, for tests");
    if (version->name)
        version->name_length = (int)strlen(version->name);
    if (version->date)
        version->date_length = (int)strlen(version->date);
    if (version->description)
        version->description_length = (int)strlen(version->description);
    return version;
}

struct drm_version *drmGetVersion(int fd)
{
    struct drm_version *(*next)(int) = NULL;

    if (is_null(fd))
        return make_version();
    *(void **)&next = libdrm_function("drmGetVersion");
    return next ? next(fd) : NULL;
}
