/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the driver: whether it was initialised, the lock of all its tables, and what every
 * call asks first.
 */
#pragma once

#include "cuda_abi.h"

#include <pthread.h>
#include <stdbool.h>

/* The calls of the driver API have these names. */
#define EXPORT __attribute__((visibility("default")))

/*
 * One lock for contexts, streams, events, work and memory: a call takes microseconds, and what takes
 * longer (copies, functions of the host, waiting) happens without it.
 */
void driver_lock(void);
void driver_unlock(void);
pthread_mutex_t *driver_mutex(void);
/* Wait, with the lock given up meanwhile, until some work is done (driver_work_done). */
void driver_wait(void);
void driver_work_done(void);

/*
 * What a call begins with: NOT_INITIALIZED before cuInit and in a forked child, NOT_PERMITTED in a
 * function that a stream calls (cuLaunchHostFunc), else success.
 */
CUresult driver_ready(void);

/* This thread now runs a function for a stream, or no longer does. */
void driver_in_host_function(bool inside);

#define RETURN_UNLESS_READY()                                                                      \
    do {                                                                                           \
        CUresult ready_ = driver_ready();                                                          \
        if (ready_ != CUDA_SUCCESS)                                                                \
            return ready_;                                                                         \
    } while (0)

/* Give the lock back and return. */
#define RETURN_UNLOCKED(result)                                                                    \
    do {                                                                                           \
        CUresult result_ = (result);                                                               \
        driver_unlock();                                                                           \
        return result_;                                                                            \
    } while (0)
