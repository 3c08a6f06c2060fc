/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL functions that fail on request (../faults/faults.h). */
#ifndef SOFTGPU_FAILING_H
#define SOFTGPU_FAILING_H

#include "layer.h"

/* Puts functions that may fail into the layer's table, before its own and those below. */
void softgpu_failing_init(cl_icd_dispatch *table, const cl_icd_dispatch *below);

/* The function of that name that may fail, before `function`; or `function` itself. */
void *softgpu_failing_extension(const char *name, void *function);

#endif
