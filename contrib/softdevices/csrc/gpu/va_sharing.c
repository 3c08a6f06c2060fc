/* SPDX-License-Identifier: Apache-2.0 */
/* cl_intel_va_api_media_sharing: VA surfaces as OpenCL images, one for each plane. */
#include <stdlib.h>

#include "contexts.h"
#include "hooks.h"
#include "shared_memory.h"
#include "trace.h"
#include "va_constants.h"
#include "va_surfaces.h"

cl_int CL_API_CALL softgpu_get_device_ids_from_va(cl_platform_id platform, cl_uint source,
                                                  void *display, cl_uint set, cl_uint count,
                                                  cl_device_id *devices, cl_uint *devices_ret)
{
    softgpu_trace("devices of VA display %p", display);
    if (source != CL_VA_API_DISPLAY_INTEL ||
        (set != CL_PREFERRED_DEVICES_FOR_VA_API_INTEL && set != CL_ALL_DEVICES_FOR_VA_API_INTEL))
        return CL_INVALID_VALUE;
    if (!display)
        return CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL;
    /* There is one device, whatever the display. */
    return softgpu_get_device_ids(platform, CL_DEVICE_TYPE_GPU, count, devices, devices_ret);
}

cl_mem CL_API_CALL softgpu_create_from_va_surface(cl_context context, cl_mem_flags flags,
                                                  unsigned int *surface, cl_uint plane,
                                                  cl_int *error)
{
    /* The extension allows these three and no others. */
    const cl_mem_flags allowed = CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY | CL_MEM_READ_WRITE;
    struct softgpu_va_plane found;
    struct softgpu_shared *shared;
    cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE2D};
    cl_int result;
    cl_mem image;

    if (!surface || (flags & ~allowed)) {
        softgpu_set_error(error, CL_INVALID_VALUE);
        return NULL;
    }
    shared = calloc(1, sizeof *shared);
    if (!shared) {
        softgpu_set_error(error, CL_OUT_OF_HOST_MEMORY);
        return NULL;
    }
    shared->va_display = softgpu_context_va_display(context);
    shared->surface_id = *surface;
    shared->plane = plane;
    result = softgpu_va_map(shared->va_display, *surface, plane, &found);
    if (result != CL_SUCCESS) {
        free(shared);
        softgpu_trace("no image of plane %u of VA surface %u: %d", plane, *surface, result);
        softgpu_set_error(error, result);
        return NULL;
    }
    shared->mapping = found.mapping;
    shared->mapping_size = found.mapping_size;
    description.image_width = found.width;
    description.image_height = found.height;
    description.image_row_pitch = found.pitch;
    image = softgpu_below.clCreateImage(context, flags | CL_MEM_USE_HOST_PTR, &found.format,
                                        &description, found.base, error);
    softgpu_trace("image %p over plane %u of VA surface %u", (void *)image, plane, *surface);
    if (!image) {
        softgpu_unshare(shared);
        return NULL;
    }
    return softgpu_share(image, shared, error);
}

/* Every object must be an image of a surface, and in the hands of the other side. */
static cl_int check_all(cl_uint count, const cl_mem *objects, bool acquired, cl_int if_not)
{
    if (!count != !objects)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        struct softgpu_shared *shared = softgpu_shared_of(objects[i]);

        if (!shared || !shared->va_display)
            return CL_INVALID_MEM_OBJECT;
        if (atomic_load(&shared->acquired) != acquired)
            return if_not;
    }
    return CL_SUCCESS;
}

/* Memory changes hands in the order of the queue. For a CPU nothing is to be done then, except to
 * keep that order and to give an event. */
static cl_int change_hands(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                           bool acquired, cl_uint waits, const cl_event *wait_list,
                           cl_event *event)
{
    cl_int result = softgpu_below.clEnqueueMarkerWithWaitList(queue, waits, wait_list, event);

    for (cl_uint i = 0; result == CL_SUCCESS && i < count; i++)
        atomic_store(&softgpu_shared_of(objects[i])->acquired, acquired);
    return result;
}

/* As Intel's driver does, when the call is made and not when the queue comes to it. */
static bool wait_for_all(cl_uint count, const cl_mem *objects)
{
    for (cl_uint i = 0; i < count; i++) {
        struct softgpu_shared *shared = softgpu_shared_of(objects[i]);

        if (!softgpu_va_wait(shared->va_display, shared->surface_id))
            return false;
    }
    return true;
}

cl_int CL_API_CALL softgpu_acquire_va(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                      cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    cl_int result =
        check_all(count, objects, false, CL_VA_API_MEDIA_SURFACE_ALREADY_ACQUIRED_INTEL);

    softgpu_trace("acquire %u VA images: %d", count, result);
    if (result == CL_SUCCESS && !wait_for_all(count, objects))
        result = CL_OUT_OF_RESOURCES;
    if (result != CL_SUCCESS)
        return result;
    return change_hands(queue, count, objects, true, waits, wait_list, event);
}

cl_int CL_API_CALL softgpu_release_va(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                      cl_uint waits, const cl_event *wait_list, cl_event *event)
{
    cl_int result = check_all(count, objects, true, CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL);

    softgpu_trace("release %u VA images: %d", count, result);
    if (result != CL_SUCCESS)
        return result;
    return change_hands(queue, count, objects, false, waits, wait_list, event);
}
