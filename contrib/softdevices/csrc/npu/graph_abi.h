/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structures of the NPU's graph extension, version 1.15, which no header package has.
 * Source: ze_graph_ext.h of https://github.com/intel/level-zero-npu-extensions; each comment names
 * the structure there. tests/npu/c checks the sizes.
 */
#pragma once

#include <level_zero/ze_api.h>
#include <stdbool.h>

#define GRAPH_EXTENSION_VERSION ZE_MAKE_VERSION(1, 12)
#define GRAPH_EXTENSION_WITH_STRIDES ZE_MAKE_VERSION(1, 15)

#define GRAPH_NAME_SIZE 256      /* ZE_MAX_GRAPH_ARGUMENT_NAME */
#define GRAPH_LAYER_TYPE_SIZE 50 /* ZE_MAX_GRAPH_PROFILING_LAYER_TYPE */
#define GRAPH_TENSOR_NAMES 32    /* ZE_MAX_GRAPH_TENSOR_NAMES_SIZE */
#define GRAPH_PROPERTIES_RANK 5  /* ZE_MAX_GRAPH_ARGUMENT_DIMENSIONS_SIZE */
#define GRAPH_METADATA_RANK 8    /* ZE_MAX_GRAPH_TENSOR_REF_DIMS */

/* ze_graph_format_t */
enum { GRAPH_FORMAT_NATIVE = 1, GRAPH_FORMAT_IR = 2 };

/* ze_graph_argument_type_t */
enum { GRAPH_ARGUMENT_INPUT = 0, GRAPH_ARGUMENT_OUTPUT = 1 };

/* ze_graph_init_stage_t */
enum { GRAPH_STAGE_INITIALIZE = 2 };

/* ze_graph_properties_flag_t */
enum { GRAPH_FLAG_COMPILED = 1 << 1, GRAPH_FLAG_PRE_COMPILED = 1 << 2 };

/* ze_graph_compiler_version_info_t */
struct graph_compiler_version {
    uint16_t major;
    uint16_t minor;
};

/* ze_graph_version_info_t */
struct graph_version {
    uint32_t major;
    uint32_t minor;
    uint32_t patch;
};

/* ze_device_graph_properties_2_t; ze_device_graph_properties_t ends before `elf`. */
struct graph_device_properties {
    uint32_t stype;
    void *next;
    uint32_t extension_version;
    struct graph_compiler_version compiler;
    uint32_t formats;
    uint32_t largest_opset;
    struct graph_version elf;
    struct graph_version runtime;
};

/* ze_graph_desc_2_t; ze_graph_desc_t ends before `flags`. */
struct graph_descriptor {
    uint32_t stype;
    void *next;
    uint32_t format;
    size_t input_size;
    const uint8_t *input;
    const char *build_flags;
    uint32_t flags;
};

/* ze_graph_properties_3_t; _2_t ends before `flags`, ze_graph_properties_t before `init_stage`. */
struct graph_properties {
    uint32_t stype;
    void *next;
    uint32_t argument_count;
    uint32_t init_stage;
    uint32_t flags;
};

/* ze_graph_argument_properties_3_t; _2_t ends before `rank`, the first before `scale`. */
struct graph_argument_properties {
    uint32_t stype;
    void *next;
    char name[GRAPH_NAME_SIZE];
    uint32_t type;
    uint32_t dimensions[GRAPH_PROPERTIES_RANK];
    uint32_t network_precision;
    uint32_t network_layout;
    uint32_t device_precision;
    uint32_t device_layout;
    float scale;
    uint8_t zero_point;
    uint32_t rank;
    char friendly_name[GRAPH_NAME_SIZE];
    char tensor_names[GRAPH_TENSOR_NAMES][GRAPH_NAME_SIZE];
    uint32_t tensor_name_count;
};

/* ze_structure_type_graph_ext_t, of what follows */
enum {
    GRAPH_STYPE_PROPERTY_STRIDES = 0x9,
    GRAPH_STYPE_VALUE_TENSOR = 0xa,
    GRAPH_STYPE_VALUE_STRIDES = 0xb,
};

/* ze_graph_argument_property_strides_t, after the properties of an argument */
struct graph_property_strides {
    uint32_t stype;
    void *next;
    bool supported;
};

/* ze_graph_argument_value_tensor_t */
struct graph_value_tensor {
    uint32_t stype;
    const void *next;
    const void *tensor;
};

/* ze_graph_argument_value_strides_t */
struct graph_value_strides {
    uint32_t stype;
    const void *next;
    uint32_t strides[GRAPH_PROPERTIES_RANK];
};

/* ze_graph_argument_metadata_t */
struct graph_argument_metadata {
    uint32_t stype;
    void *next;
    uint32_t type;
    char friendly_name[GRAPH_NAME_SIZE];
    uint32_t data_type;
    uint64_t shape[GRAPH_METADATA_RANK];
    uint32_t rank;
    char tensor_names[GRAPH_TENSOR_NAMES][GRAPH_NAME_SIZE];
    uint32_t tensor_name_count;
    char input_name[GRAPH_NAME_SIZE];
};

/* ze_device_profiling_data_properties_t of ze_graph_profiling_ext.h */
struct graph_profiling_properties {
    uint32_t stype;
    void *next;
    uint32_t extension_version;
};

/* ze_profiling_layer_info of ze_graph_profiling_ext.h */
struct graph_profiling_layer {
    char name[GRAPH_NAME_SIZE];
    char type[GRAPH_LAYER_TYPE_SIZE];
    uint32_t status;
    uint64_t start_ns;
    uint64_t duration_ns;
    uint32_t id;
    uint64_t fused_id;
    uint64_t dpu_ns;
    uint64_t software_ns;
    uint64_t dma_ns;
};

/* ze_graph_memory_query_t */
struct graph_memory {
    uint64_t total;
    uint64_t allocated;
};
