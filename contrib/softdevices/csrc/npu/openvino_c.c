/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "openvino_c.h"

#include "config.h"
#include "trace.h"

#include <dlfcn.h>
#include <link.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct openvino api;
static bool is_loaded;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Called for each loaded library: finds libopenvino and names the C library beside it. */
static int look_beside(struct dl_phdr_info *library, size_t size, void *out)
{
    (void)size;
    static const char name[] = "libopenvino.so";
    const char *file = strrchr(library->dlpi_name, '/');
    if (!file || strncmp(file + 1, name, strlen(name)) != 0)
        return 0;
    /* libopenvino.so.2641 -> libopenvino_c.so.2641 */
    char *path = out;
    snprintf(path, PATH_MAX, "%.*slibopenvino_c.so%s", (int)(file + 1 - library->dlpi_name),
             library->dlpi_name, file + 1 + strlen(name));
    return access(path, R_OK) == 0;
}

static bool find_library(char *path)
{
    if (dl_iterate_phdr(look_beside, path))
        return true;
    if (!config()->openvino_c)
        return false;
    snprintf(path, PATH_MAX, "%s", config()->openvino_c);
    return true;
}

static bool resolve_all(void *library, char *reason, size_t size)
{
    const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"ov_core_create", &api.core_create},
        {"ov_core_read_model_from_memory_buffer", &api.core_read_model},
        {"ov_core_compile_model", &api.core_compile_model},
        {"ov_model_free", &api.model_free},
        {"ov_compiled_model_free", &api.compiled_free},
        {"ov_compiled_model_create_infer_request", &api.compiled_create_request},
        {"ov_compiled_model_inputs_size", &api.compiled_input_count},
        {"ov_compiled_model_outputs_size", &api.compiled_output_count},
        {"ov_compiled_model_input_by_index", &api.compiled_input},
        {"ov_compiled_model_output_by_index", &api.compiled_output},
        {"ov_const_port_get_shape", &api.port_shape},
        {"ov_port_get_element_type", &api.port_type},
        {"ov_output_const_port_free", &api.port_free},
        {"ov_shape_free", &api.shape_free},
        {"ov_tensor_create_from_host_ptr", &api.tensor_from_host},
        {"ov_tensor_free", &api.tensor_free},
        {"ov_infer_request_set_input_tensor_by_index", &api.request_set_input},
        {"ov_infer_request_set_output_tensor_by_index", &api.request_set_output},
        {"ov_infer_request_infer", &api.request_infer},
        {"ov_infer_request_get_profiling_info", &api.request_layers},
        {"ov_profiling_info_list_free", &api.layers_free},
        {"ov_infer_request_free", &api.request_free},
        {"ov_get_last_err_msg", &api.last_error},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (!symbol) {
            snprintf(reason, size, "OpenVINO's C library has no %s", functions[i].name);
            return false;
        }
        memcpy(functions[i].function, &symbol, sizeof symbol);
    }
    return true;
}

/* The mutex is held. */
static bool load(char *reason, size_t size)
{
    char path[PATH_MAX];
    if (!find_library(path)) {
        snprintf(reason, size,
                 "no libopenvino is loaded in this process, and SOFTNPU_OPENVINO_C is not set");
        return false;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(reason, size, "%s", dlerror());
        return false;
    }
    if (!resolve_all(library, reason, size))
        return false;
    if (api.core_create(&api.core)) {
        snprintf(reason, size, "%s", api.last_error());
        return false;
    }
    trace("openvino_loaded path=%s", path);
    return true;
}

const struct openvino *openvino_c(char *reason, size_t size)
{
    pthread_mutex_lock(&mutex);
    if (!is_loaded)
        is_loaded = load(reason, size);
    const struct openvino *result = is_loaded ? &api : NULL;
    pthread_mutex_unlock(&mutex);
    return result;
}

void openvino_c_restart(void)
{
    pthread_mutex_init(&mutex, NULL);
}
