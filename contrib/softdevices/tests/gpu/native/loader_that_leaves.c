/* SPDX-License-Identifier: Apache-2.0 */
/* A loader that starts the layer and is then unloaded. */
#include "../../../csrc/gpu/layer.h"

#include <CL/cl_layer.h>

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type,
                                         cl_uint count, cl_device_id *devices,
                                         cl_uint *devices_ret)
{
    (void)platform;
    (void)type;
    (void)count;
    (void)devices;
    (void)devices_ret;
    return CL_DEVICE_NOT_FOUND;
}

/* Gives what the layer's function gives, after it was started. */
int start(pfn_clInitLayer init, const cl_icd_dispatch **layer);
int start(pfn_clInitLayer init, const cl_icd_dispatch **layer)
{
    static cl_icd_dispatch table;
    cl_uint count = sizeof table / sizeof(void *);

    table.clGetDeviceIDs = get_device_ids;
    return init(count, &table, &count, layer);
}

/* Lists devices by way of the layer. */
int list(const cl_icd_dispatch *layer);
int list(const cl_icd_dispatch *layer)
{
    return layer->clGetDeviceIDs(0, CL_DEVICE_TYPE_GPU, 0, 0, 0);
}
