/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct config the_config;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* An empty variable counts as one that is not set, as shells make it hard to unset one. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static void read_environment(void)
{
    const char *delay = variable("SOFTNPU_DELAY_US");
    const char *devices = variable("SOFTNPU_DEVICES");
    const char *platform = variable("SOFTNPU_PLATFORM");
    const char *strides = variable("SOFTNPU_STRIDES");

    /* Copied: a later setenv() of the program may move or free what getenv() gave. */
    the_config.trace = variable("SOFTNPU_TRACE") ? strdup(variable("SOFTNPU_TRACE")) : NULL;
    the_config.openvino_c =
        variable("SOFTNPU_OPENVINO_C") ? strdup(variable("SOFTNPU_OPENVINO_C")) : NULL;
    the_config.delay_us = delay ? strtoull(delay, NULL, 10) : 0;
    the_config.has_npu = !devices || strstr(devices, "npu");
    the_config.has_gpu = devices && strstr(devices, "gpu");
    the_config.has_strides = strides && strcmp(strides, "0") != 0;
    the_config.platform = platform ? (unsigned)strtoul(platform, NULL, 10) : 4000;
}

const struct config *config(void)
{
    pthread_once(&once, read_environment);
    return &the_config;
}
