/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTGPU_CONTEXTS_H
#define SOFTGPU_CONTEXTS_H

#include "layer.h"

/* Gives the VADisplay that `context` was made with, or NULL. */
void *softgpu_context_va_display(cl_context context);

#endif
