/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include "symbols.h"

#include <stdatomic.h>

/* CUDA 13.0, as cuDriverGetVersion() writes it. */
enum { VERSION = 13000 };

enum state { NEW, INITIALIZED, FORKED };

static atomic_int state = NEW;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_done = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local bool in_host_function;

void driver_lock(void)
{
    pthread_mutex_lock(&lock);
}

void driver_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

pthread_mutex_t *driver_mutex(void)
{
    return &lock;
}

void driver_wait(void)
{
    pthread_cond_wait(&work_done, &lock);
}

void driver_work_done(void)
{
    pthread_cond_broadcast(&work_done);
}

void driver_in_host_function(bool inside)
{
    in_host_function = inside;
}

CUresult driver_ready(void)
{
    if (atomic_load(&state) != INITIALIZED)
        return CUDA_ERROR_NOT_INITIALIZED;
    return in_host_function ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

/* The child has no worker threads, and the lock may be another thread's: nothing works there. */
static void in_child(void)
{
    atomic_store(&state, FORKED);
}

static void install(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

EXPORT CUresult cuInit(unsigned int flags)
{
    int expected = NEW;

    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_once(&once, install);
    atomic_compare_exchange_strong(&state, &expected, INITIALIZED);
    return atomic_load(&state) == INITIALIZED ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

EXPORT CUresult cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = VERSION;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version,
                                    uint64_t flags, int *status)
{
    (void)flags;
    if (!symbol || !function)
        return CUDA_ERROR_INVALID_VALUE;
    *function = symbol_find(symbol, version);
    if (status)
        *status = *function ? 0 : 1; /* CU_GET_PROC_ADDRESS_SUCCESS, _SYMBOL_NOT_FOUND */
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}
