/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel keeps its program: so OpenCL says, and OpenVINO asks a kernel for its program after it
 * released it. The CPU runtime ends a program with the program's own last reference, although
 * kernels of it live. So each kernel made here holds a reference to its program. */
#include <pthread.h>

#include "hooks.h"

/* So that of two threads that release a kernel one sees that it is the last. */
static pthread_mutex_t release_lock = PTHREAD_MUTEX_INITIALIZER;

static cl_program program_of(cl_kernel kernel)
{
    cl_program program = NULL;

    softgpu_below.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    return program;
}

cl_kernel CL_API_CALL softgpu_create_kernel(cl_program program, const char *name, cl_int *error)
{
    cl_kernel kernel = softgpu_below.clCreateKernel(program, name, error);

    if (kernel)
        softgpu_below.clRetainProgram(program);
    return kernel;
}

cl_int CL_API_CALL softgpu_create_kernels_in_program(cl_program program, cl_uint count,
                                                     cl_kernel *kernels, cl_uint *kernels_ret)
{
    cl_uint made = 0;
    cl_int result = softgpu_below.clCreateKernelsInProgram(program, count, kernels, &made);

    if (kernels_ret)
        *kernels_ret = made;
    if (result != CL_SUCCESS || !kernels)
        return result;
    for (cl_uint i = 0; i < made; i++)
        softgpu_below.clRetainProgram(program);
    return result;
}

cl_kernel CL_API_CALL softgpu_clone_kernel(cl_kernel source, cl_int *error)
{
    cl_kernel kernel = softgpu_below.clCloneKernel(source, error);

    if (kernel)
        softgpu_below.clRetainProgram(program_of(kernel));
    return kernel;
}

cl_int CL_API_CALL softgpu_release_kernel(cl_kernel kernel)
{
    cl_uint references = 0;
    cl_program program = NULL;
    cl_int result;

    pthread_mutex_lock(&release_lock);
    if (softgpu_below.clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof references,
                                      &references, NULL) == CL_SUCCESS &&
        references == 1)
        program = program_of(kernel);
    result = softgpu_below.clReleaseKernel(kernel);
    pthread_mutex_unlock(&release_lock);
    if (result == CL_SUCCESS && program)
        softgpu_below.clReleaseProgram(program);
    return result;
}
