/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts that know their VA display. The runtime refuses the property that names the display, so
 * it is taken out on the way down, and remembered. */
#include "contexts.h"

#include <stdlib.h>
#include <string.h>

#include "handle_map.h"
#include "hooks.h"
#include "trace.h"
#include "va_constants.h"

/* Pairs of name and value, then a zero: as the program gave them. */
struct context_record {
    void *display;
    size_t size;
    cl_context_properties properties[];
};

static struct softgpu_map records = SOFTGPU_MAP_INIT;

static size_t pair_count(const cl_context_properties *properties)
{
    size_t count = 0;

    while (properties && properties[2 * count])
        count++;
    return count;
}

/* A copy of the properties without the VA display, which goes to `*display`. Freed by the caller;
 * NULL if there is no memory. */
static cl_context_properties *without_display(const cl_context_properties *properties,
                                              void **display)
{
    size_t count = pair_count(properties), kept = 0;
    cl_context_properties *rest = calloc(2 * count + 1, sizeof *rest);

    *display = NULL;
    for (size_t i = 0; rest && i < count; i++) {
        if (properties[2 * i] == CL_CONTEXT_VA_API_DISPLAY_INTEL) {
            *display = (void *)properties[2 * i + 1];
            continue;
        }
        rest[2 * kept] = properties[2 * i];
        rest[2 * kept + 1] = properties[2 * i + 1];
        kept++;
    }
    return rest;
}

static void CL_CALLBACK forget(cl_context context, void *user)
{
    (void)user;
    free(softgpu_map_take(&records, context));
}

/* Remembers the display of `context`; false if that is impossible. */
static bool remember(cl_context context, const cl_context_properties *properties, void *display)
{
    size_t size = (2 * pair_count(properties) + 1) * sizeof *properties;
    struct context_record *record = malloc(sizeof *record + size);

    if (!record)
        return false;
    record->display = display;
    record->size = size;
    memcpy(record->properties, properties, size);
    if (!softgpu_map_put(&records, context, record)) {
        free(record);
        return false;
    }
    if (softgpu_below.clSetContextDestructorCallback(context, forget, NULL) != CL_SUCCESS) {
        free(softgpu_map_take(&records, context));
        return false;
    }
    return true;
}

/* What both ways of making a context have in common, after the context was made. */
static cl_context finish(cl_context context, const cl_context_properties *properties,
                         void *display, cl_int *error)
{
    if (context && display && !remember(context, properties, display)) {
        softgpu_below.clReleaseContext(context);
        softgpu_set_error(error, CL_OUT_OF_HOST_MEMORY);
        context = NULL;
    }
    softgpu_trace("context %p, VA display %p", (void *)context, display);
    return context;
}

cl_context CL_API_CALL softgpu_create_context(const cl_context_properties *properties,
                                              cl_uint count, const cl_device_id *devices,
                                              softgpu_context_notify notify, void *user,
                                              cl_int *error)
{
    void *display;
    cl_context_properties *rest = without_display(properties, &display);
    cl_context context;

    if (!rest) {
        softgpu_set_error(error, CL_OUT_OF_HOST_MEMORY);
        return NULL;
    }
    context = softgpu_below.clCreateContext(properties ? rest : NULL, count, devices, notify, user,
                                            error);
    free(rest);
    return finish(context, properties, display, error);
}

cl_context CL_API_CALL softgpu_create_context_from_type(const cl_context_properties *properties,
                                                        cl_device_type type,
                                                        softgpu_context_notify notify, void *user,
                                                        cl_int *error)
{
    cl_device_type below = softgpu_type_below(type);
    void *display;
    cl_context_properties *rest;
    cl_context context;

    if (!below && type) {
        softgpu_set_error(error, CL_DEVICE_NOT_FOUND);
        return NULL;
    }
    rest = without_display(properties, &display);
    if (!rest) {
        softgpu_set_error(error, CL_OUT_OF_HOST_MEMORY);
        return NULL;
    }
    context = softgpu_below.clCreateContextFromType(properties ? rest : NULL, below, notify, user,
                                                    error);
    free(rest);
    return finish(context, properties, display, error);
}

cl_int CL_API_CALL softgpu_get_context_info(cl_context context, cl_context_info name, size_t size,
                                            void *value, size_t *size_ret)
{
    struct context_record *record = NULL;

    if (name == CL_CONTEXT_PROPERTIES)
        record = softgpu_map_get(&records, context);
    if (!record)
        return softgpu_below.clGetContextInfo(context, name, size, value, size_ret);
    return softgpu_answer(record->properties, record->size, size, value, size_ret);
}

void *softgpu_context_va_display(cl_context context)
{
    struct context_record *record = softgpu_map_get(&records, context);

    return record ? record->display : NULL;
}
