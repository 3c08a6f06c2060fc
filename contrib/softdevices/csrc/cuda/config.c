/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

static struct config the_config;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* An empty variable counts as one that is not set, as shells make it hard to unset one. */
static unsigned long long number(const char *name, unsigned long long otherwise)
{
    const char *value = getenv(name);
    return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

static void read_environment(void)
{
    unsigned long long devices = number("SOFTCUDA_DEVICES", 2);

    the_config.devices = devices < 1 ? 1 : devices > MAX_DEVICES ? MAX_DEVICES : (int)devices;
    the_config.memory = number("SOFTCUDA_MEMORY", 1ULL << 32);
    the_config.pageable = number("SOFTCUDA_PAGEABLE", 0) != 0;
    the_config.dma_buf_mmap = number("SOFTCUDA_DMA_BUF_MMAP", 0) != 0;
    the_config.waits = number("SOFTCUDA_WAITS", 0) != 0;
    the_config.dma_buf_import = number("SOFTCUDA_DMA_BUF_IMPORT", 0) != 0;
}

const struct config *config(void)
{
    pthread_once(&once, read_environment);
    return &the_config;
}
