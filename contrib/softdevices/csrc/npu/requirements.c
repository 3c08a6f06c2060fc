/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime requirements of Level Zero 1.16: a compiled model says as a text what it needs of a
 * device, and a device says whether it has that. Ours need the device they were compiled for. The
 * text is name=number, since OpenVINO's plugin puts it into one of its own, whose parser takes
 * lower-case names and decimal numbers.
 */
#include "device.h"
#include "graph.h"
#include "newer_abi.h"
#include "trace.h"

#include <stdio.h>
#include <string.h>

#define KEY "softnpu"
#define TEXT_SIZE 64

/* ze_validate_runtime_requirements_result_t */
enum { NOT_APPLICABLE = 0, MET = 1, NOT_MET = 3 };

static void write_text(const struct device *device, char *text)
{
    snprintf(text, TEXT_SIZE, KEY "=%u", device->device_id);
}

ze_result_t softnpu_get_runtime_requirements(ze_device_handle_t handle,
                                             const struct softnpu_requirements_of_graph *descriptor,
                                             size_t *size, char *out)
{
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!descriptor || !size)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (descriptor->stype != SOFTNPU_STYPE_REQUIREMENTS_OF_GRAPH)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT; /* there are no modules */
    HELD struct graph *graph = object_get(descriptor->graph, OBJECT_GRAPH);
    if (!graph)
        return object_missing(descriptor->graph);
    char text[TEXT_SIZE];
    write_text(device, text);
    const size_t needed = strlen(text) + 1;
    if (out && *size < needed)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    if (out)
        memcpy(out, text, needed);
    *size = needed;
    return ZE_RESULT_SUCCESS;
}

ze_result_t softnpu_get_runtime_requirements_key(ze_device_handle_t handle, const char **out)
{
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *out = KEY;
    return ZE_RESULT_SUCCESS;
}

ze_result_t softnpu_validate_runtime_requirements(ze_device_handle_t handle, const char *text,
                                                  struct softnpu_requirements_result *out)
{
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!text || !out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    char own[TEXT_SIZE];
    write_text(device, own);
    out->result = strncmp(text, KEY "=", sizeof KEY) != 0 ? NOT_APPLICABLE
                  : strcmp(text, own) == 0                ? MET
                                                          : NOT_MET;
    trace("requirements result=%u", out->result);
    return ZE_RESULT_SUCCESS;
}
