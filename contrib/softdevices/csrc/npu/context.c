/* SPDX-License-Identifier: Apache-2.0 */
#include "context.h"

#include "memory.h"
#include "trace.h"

#include <stdlib.h>

static void release(void *pointer)
{
    struct context *context = pointer;
    memory_free_all(context);
    pthread_mutex_destroy(&context->mutex);
    free(context);
}

static void restart(void *pointer)
{
    pthread_mutex_init(&((struct context *)pointer)->mutex, NULL);
}

ze_result_t zeContextCreate(ze_driver_handle_t handle, const ze_context_desc_t *descriptor,
                            ze_context_handle_t *out)
{
    FAULT(zeContextCreate);
    HELD struct driver *driver = object_get(handle, OBJECT_DRIVER);
    if (!driver)
        return object_missing(handle);
    if (!descriptor || !out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    struct context *context = calloc(1, sizeof *context);
    if (!context)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    context->driver = driver;
    restart(context);
    context->object.restart = restart;
    object_publish(&context->object, OBJECT_CONTEXT, release);
    *out = (ze_context_handle_t)context;
    trace("context_create context=%p", (void *)context);
    return ZE_RESULT_SUCCESS;
}

/* The list of devices adds nothing: each driver has one. */
ze_result_t zeContextCreateEx(ze_driver_handle_t handle, const ze_context_desc_t *descriptor,
                              uint32_t count, ze_device_handle_t *devices, ze_context_handle_t *out)
{
    FAULT(zeContextCreateEx);
    for (uint32_t i = 0; devices && i < count; i++) {
        HELD struct device *device = object_get(devices[i], OBJECT_DEVICE);
        if (!device)
            return object_missing(devices[i]);
    }
    return zeContextCreate(handle, descriptor, out);
}

ze_result_t zeContextDestroy(ze_context_handle_t handle)
{
    FAULT(zeContextDestroy);
    trace("context_destroy context=%p", (void *)handle);
    return object_retire(handle, OBJECT_CONTEXT);
}

ze_result_t zeContextGetStatus(ze_context_handle_t handle)
{
    FAULT(zeContextGetStatus);
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    return context ? ZE_RESULT_SUCCESS : object_missing(handle);
}

static ze_result_t check_both(ze_context_handle_t handle, ze_device_handle_t device_handle)
{
    HELD struct context *context = object_get(handle, OBJECT_CONTEXT);
    HELD struct device *device = object_get(device_handle, OBJECT_DEVICE);
    if (!context)
        return object_missing(handle);
    return device ? ZE_RESULT_SUCCESS : object_missing(device_handle);
}

ze_result_t zeContextSystemBarrier(ze_context_handle_t context, ze_device_handle_t device)
{
    FAULT(zeContextSystemBarrier);
    return check_both(context, device);
}

ze_result_t zeContextMakeMemoryResident(ze_context_handle_t context, ze_device_handle_t device,
                                        void *pointer, size_t size)
{
    FAULT(zeContextMakeMemoryResident);
    (void)size;
    return pointer ? check_both(context, device) : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}

ze_result_t zeContextEvictMemory(ze_context_handle_t context, ze_device_handle_t device,
                                 void *pointer, size_t size)
{
    FAULT(zeContextEvictMemory);
    (void)size;
    return pointer ? check_both(context, device) : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}
