/* SPDX-License-Identifier: Apache-2.0 */
/* To the CPU runtime these objects are buffers and images over memory of the program
 * (CL_MEM_USE_HOST_PTR). To programs they must look like those of a GPU driver. */
#include "shared_memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "handle_map.h"
#include "hooks.h"
#include "host_pointers.h"
#include "trace.h"
#include "va_constants.h"

static struct softgpu_map records = SOFTGPU_MAP_INIT;
static atomic_uint live_imports;

void softgpu_unshare(struct softgpu_shared *shared)
{
    munmap(shared->mapping, shared->mapping_size);
    free(shared->properties);
    free(shared);
}

/* Called by the runtime when the last reference went and no command uses the memory any more. */
static void CL_CALLBACK forget(cl_mem object, void *user)
{
    struct softgpu_shared *shared = user;

    softgpu_map_take(&records, object);
    atomic_fetch_sub(&live_imports, 1);
    softgpu_trace("shared memory object %p is gone", (void *)object);
    softgpu_unshare(shared);
}

cl_mem softgpu_share(cl_mem object, struct softgpu_shared *shared, cl_int *error)
{
    if (!softgpu_map_put(&records, object, shared)) {
        softgpu_below.clReleaseMemObject(object);
        softgpu_unshare(shared);
        softgpu_set_error(error, CL_OUT_OF_HOST_MEMORY);
        return NULL;
    }
    atomic_fetch_add(&live_imports, 1);
    if (softgpu_below.clSetMemObjectDestructorCallback(object, forget, shared) != CL_SUCCESS) {
        softgpu_below.clReleaseMemObject(object);
        forget(object, shared);
        softgpu_set_error(error, CL_OUT_OF_HOST_MEMORY);
        return NULL;
    }
    softgpu_set_error(error, CL_SUCCESS);
    return object;
}

struct softgpu_shared *softgpu_shared_of(cl_mem object)
{
    return softgpu_map_get(&records, object);
}

unsigned int softgpu_live_imports(void)
{
    return atomic_load(&live_imports);
}

/* The flags of the object as the program gave them. */
static cl_int answer_flags(cl_mem object, size_t size, void *value, size_t *size_ret)
{
    cl_mem_flags flags = 0;
    cl_int result =
        softgpu_below.clGetMemObjectInfo(object, CL_MEM_FLAGS, sizeof flags, &flags, NULL);

    if (result != CL_SUCCESS)
        return result;
    if (softgpu_shared_of(object))
        flags &= ~(cl_mem_flags)CL_MEM_USE_HOST_PTR;
    else
        flags = (flags & ~(cl_mem_flags)CL_MEM_READ_WRITE) | CL_MEM_READ_ONLY;
    return softgpu_answer(&flags, sizeof flags, size, value, size_ret);
}

cl_int CL_API_CALL softgpu_get_mem_object_info(cl_mem object, cl_mem_info name, size_t size,
                                               void *value, size_t *size_ret)
{
    struct softgpu_shared *shared = softgpu_shared_of(object);
    void *const no_pointer = NULL;

    if (!shared && name == CL_MEM_FLAGS && softgpu_secretly_read_only(object))
        return answer_flags(object, size, value, size_ret);
    if (!shared)
        return softgpu_below.clGetMemObjectInfo(object, name, size, value, size_ret);
    switch (name) {
    case CL_MEM_FLAGS:
        return answer_flags(object, size, value, size_ret);
    case CL_MEM_HOST_PTR:
        return softgpu_answer(&no_pointer, sizeof no_pointer, size, value, size_ret);
    case CL_MEM_PROPERTIES:
        return softgpu_answer(shared->properties, shared->properties_size, size, value, size_ret);
    case CL_MEM_VA_API_MEDIA_SURFACE_INTEL:
        if (shared->va_display) {
            /* The extension answers with a pointer to the id, as the object was made with one. */
            unsigned int *id = &shared->surface_id;
            return softgpu_answer(&id, sizeof id, size, value, size_ret);
        }
        break;
    }
    return softgpu_below.clGetMemObjectInfo(object, name, size, value, size_ret);
}

cl_int CL_API_CALL softgpu_get_image_info(cl_mem image, cl_image_info name, size_t size,
                                          void *value, size_t *size_ret)
{
    struct softgpu_shared *shared = NULL;

    if (name == CL_IMAGE_VA_API_PLANE_INTEL)
        shared = softgpu_shared_of(image);
    if (!shared || !shared->va_display)
        return softgpu_below.clGetImageInfo(image, name, size, value, size_ret);
    return softgpu_answer(&shared->plane, sizeof shared->plane, size, value, size_ret);
}
