/* SPDX-License-Identifier: Apache-2.0 */
/* What the modules of the layer share: the functions below the layer, and how a query is answered. */
#ifndef SOFTGPU_LAYER_H
#define SOFTGPU_LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <stdbool.h>
#include <stddef.h>

/* A function that a test program or Python calls directly. */
#define SOFTGPU_EXPORT __attribute__((visibility("default")))

/* The functions below this layer. Filled before any call can arrive, then only read. */
extern cl_icd_dispatch softgpu_below;

/* Answers one clGet...Info query by the rules that all of them share: `size_ret` gets the size of
 * the answer; a `value` that is too small is CL_INVALID_VALUE. */
cl_int softgpu_answer(const void *answer, size_t answer_size, size_t size, void *value,
                      size_t *size_ret);

/* Stores an error code where the caller gave room for one. */
void softgpu_set_error(cl_int *place, cl_int error);

#endif
