/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: primary ones and those that a program makes. All functions need the driver's lock. */
#pragma once

#include "cuda_abi.h"

#include <stdbool.h>

struct stream;
struct event;

struct context {
    struct context *next;
    CUdevice device;
    unsigned flags;
    bool is_primary;
    CUresult error; /* what failed in a stream; every later call answers it, as CUDA's do */
    unsigned long long number;
    struct stream *streams;
    struct event *events;
};

/* All that live. */
CUcontext context_first(void);

/* The thread's current context, if it lives and no work of it failed. */
CUresult context_current(CUcontext *context);
/* Whether it lives. */
bool context_lives(CUcontext context);
/* The same, and the error of its work. */
CUresult context_check(CUcontext context);

void context_fail(CUcontext context, CUresult error);

/* A new one; NULL without memory. */
CUcontext context_make(CUdevice device, unsigned flags, bool is_primary);
/* Wait for its work, then end its streams, events and memory. */
void context_end(CUcontext context);
