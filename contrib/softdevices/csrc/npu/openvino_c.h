/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenVINO's C API, loaded late: the driver must not depend on OpenVINO, only graphs do.
 * Source of types and prototypes: the headers in openvino/c of OpenVINO 2026.4.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* ov_shape_t */
struct openvino_shape {
    int64_t rank;
    int64_t *dimensions;
};

/* ov_profiling_info_t */
struct openvino_layer {
    int status;
    int64_t real_us;
    int64_t cpu_us;
    const char *name;
    const char *execution_type;
    const char *type;
};

/* ov_profiling_info_list_t */
struct openvino_layers {
    struct openvino_layer *items;
    size_t count;
};

/* Pointers are ov_core_t, ov_model_t and so on; each status is 0 for success. */
struct openvino {
    int (*core_create)(void **core);
    int (*core_read_model)(const void *core, const char *xml, size_t length, const void *weights,
                           void **model);
    int (*core_compile_model)(const void *core, const void *model, const char *device,
                              size_t argument_count, void **compiled, ...);
    void (*model_free)(void *model);
    void (*compiled_free)(void *compiled);
    int (*compiled_create_request)(const void *compiled, void **request);
    int (*compiled_input_count)(const void *compiled, size_t *count);
    int (*compiled_output_count)(const void *compiled, size_t *count);
    int (*compiled_input)(const void *compiled, size_t index, void **port);
    int (*compiled_output)(const void *compiled, size_t index, void **port);
    int (*port_shape)(const void *port, struct openvino_shape *shape);
    int (*port_type)(const void *port, int *type);
    void (*port_free)(void *port);
    int (*shape_free)(struct openvino_shape *shape);
    int (*tensor_from_host)(int type, struct openvino_shape shape, void *memory, void **tensor);
    void (*tensor_free)(void *tensor);
    int (*request_set_input)(void *request, size_t index, const void *tensor);
    int (*request_set_output)(void *request, size_t index, const void *tensor);
    int (*request_infer)(void *request);
    int (*request_layers)(const void *request, struct openvino_layers *layers);
    void (*layers_free)(struct openvino_layers *layers);
    void (*request_free)(void *request);
    const char *(*last_error)(void);
    void *core; /* one for the process: it is costly to make, and never freed */
};

/* NULL if the library cannot be used; then `reason` (of `size` bytes) says why. */
const struct openvino *openvino_c(char *reason, size_t size);

/* In a forked child: another thread may have been loading it. */
void openvino_c_restart(void);
