/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standing in for the loader. Found under the name libze_loader.so.1, this library is both: its
 * functions are Level Zero's, and here are those that only a loader has.
 *
 * The handles are the driver's own, and zeInit() is zeInit() of the driver.
 */
#include "newer_abi.h"

/* Before the loader's header, which in level-zero 1.32 uses bool without including it. */
#include <stdbool.h>

#include <level_zero/loader/ze_loader.h>

/* The loader of the specification that we report; OpenVINO's plugin prints it. */
static const zel_component_version_t loader = {
    .component_name = "loader",
    .spec_version = SOFTNPU_API_VERSION,
    .component_lib_version = {1, 20, 6},
};

ze_result_t zelLoaderGetVersions(size_t *count, zel_component_version_t *versions)
{
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (versions && *count > 0)
        versions[0] = loader;
    *count = 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zelLoaderTranslateHandle(zel_handle_type_t type, void *handle, void **out)
{
    (void)type;
    if (!handle || !out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *out = handle;
    return ZE_RESULT_SUCCESS;
}

/* Newer loaders have these: source loader/ze_loader.h of level-zero 1.20. */
#define NEWER __attribute__((visibility("default")))

NEWER ze_result_t softnpu_get_loader_version(zel_component_version_t *version)
    __asm__("zelGetLoaderVersion");
NEWER ze_result_t softnpu_set_driver_teardown(void) __asm__("zelSetDriverTeardown");
NEWER bool softnpu_is_loader_in_teardown(void) __asm__("zelCheckIsLoaderInTearDown");
/* What the static half of newer loaders calls, which SYCL's runtime has linked in, without a look
 * at whether it is there: source lib/ze_lib.cpp of level-zero 1.24. */
NEWER ze_result_t softnpu_loader_init(void) __asm__("zeLoaderInit");
NEWER ze_result_t softnpu_loader_versions(size_t *count, zel_component_version_t *versions)
    __asm__("zelLoaderGetVersionsInternal");
NEWER ze_result_t softnpu_translate_handle(zel_handle_type_t type, void *handle, void **out)
    __asm__("zelLoaderTranslateHandleInternal");
NEWER void *softnpu_loader_context(void) __asm__("zelLoaderGetContext");
NEWER ze_result_t softnpu_tracing_layer(void *tables) __asm__("zelLoaderTracingLayerInit");
NEWER ze_result_t softnpu_zer_tracing_layer(void *tables) __asm__("zelLoaderZerTracingLayerInit");
NEWER ze_result_t softnpu_context_teardown(void) __asm__("zelLoaderContextTeardown");
NEWER ze_result_t softnpu_delay_teardown(void) __asm__("zelSetDelayLoaderContextTeardown");

ze_result_t softnpu_get_loader_version(zel_component_version_t *version)
{
    size_t count = 1;
    return version ? zelLoaderGetVersions(&count, version) : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}

ze_result_t softnpu_set_driver_teardown(void)
{
    return ZE_RESULT_SUCCESS;
}

bool softnpu_is_loader_in_teardown(void)
{
    return false;
}

ze_result_t softnpu_loader_init(void)
{
    return ZE_RESULT_SUCCESS;
}

ze_result_t softnpu_loader_versions(size_t *count, zel_component_version_t *versions)
{
    return zelLoaderGetVersions(count, versions);
}

ze_result_t softnpu_translate_handle(zel_handle_type_t type, void *handle, void **out)
{
    return zelLoaderTranslateHandle(type, handle, out);
}

/* There is no loader with its own context. */
void *softnpu_loader_context(void)
{
    return NULL;
}

ze_result_t softnpu_tracing_layer(void *tables)
{
    (void)tables;
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

ze_result_t softnpu_zer_tracing_layer(void *tables)
{
    (void)tables;
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

ze_result_t softnpu_context_teardown(void)
{
    return ZE_RESULT_SUCCESS;
}

ze_result_t softnpu_delay_teardown(void)
{
    return ZE_RESULT_SUCCESS;
}
