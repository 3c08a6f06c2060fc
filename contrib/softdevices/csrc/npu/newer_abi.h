/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of Level Zero that are newer than the oldest headers we build with (libze-dev 1.8 has the
 * specification 1.4). Names and values are those of the specification 1.9 to 1.16
 * (https://oneapi-src.github.io/level-zero-spec, ze_api.h and ze_ddi.h), with a prefix of ours so
 * that newer headers do not clash.
 */
#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

/* The version that the driver reports: the first with zeDeviceGetRuntimeRequirements. */
#define SOFTNPU_API_VERSION ((ze_api_version_t)ZE_MAKE_VERSION(1, 16))

/* ze_structure_type_t */
#define SOFTNPU_STYPE_MUTABLE_GRAPH_ARGUMENT 0x00020020u /* ze_mutable_graph_argument_exp_desc_t */
#define SOFTNPU_STYPE_MEMMAP_SYSMEM 0x00020037u /* ze_external_memmap_sysmem_ext_desc_t */
#define SOFTNPU_STYPE_REQUIREMENTS_OF_GRAPH 0x00020045u /* of a runtime requirements descriptor */

/* Also written by drivers of intel/level-zero-npu-extensions for import of plain memory. */
#define SOFTNPU_EXTERNAL_MEMORY_STANDARD_ALLOCATION 0x100u

/* ze_external_memmap_sysmem_ext_desc_t (1.14) */
struct softnpu_memmap_sysmem {
    uint32_t stype;
    const void *next;
    void *memory;
    uint64_t size;
};

/* ze_mutable_commands_exp_desc_t (1.9) */
struct softnpu_mutable_commands {
    uint32_t stype;
    const void *next;
    uint32_t flags;
};

/* ze_mutable_graph_argument_exp_desc_t (1.9; older copies in ze_graph_ext.h) */
struct softnpu_mutable_graph_argument {
    uint32_t stype;
    const void *next;
    uint64_t command;
    uint32_t argument;
    const void *value;
};

/* ze_init_driver_type_desc_t (1.10) */
struct softnpu_init_driver_type {
    uint32_t stype;
    const void *next;
    uint32_t flags; /* GPU is bit 0, NPU bit 1 */
};

/* The descriptor of a graph for zeDeviceGetRuntimeRequirements (1.16). */
struct softnpu_requirements_of_graph {
    uint32_t stype;
    const void *next;
    const void *graph; /* ze_graph_handle_t */
};

/* ze_validate_runtime_requirements_output_t (1.16) */
struct softnpu_requirements_result {
    uint32_t stype;
    void *next;
    uint32_t result;
};

/* ze_driver_extension_properties_t and the dispatch tables only grow at their ends. Index of the
 * entries that we fill and old headers lack: */
enum {
    SOFTNPU_GLOBAL_INIT_DRIVERS = 1,             /* ze_global_dditable_t, since 1.10 */
    SOFTNPU_DEVICE_GET_REQUIREMENTS = 24,        /* ze_device_dditable_t, since 1.16 */
    SOFTNPU_DEVICE_GET_REQUIREMENTS_KEY = 25,
    SOFTNPU_DEVICE_VALIDATE_REQUIREMENTS = 26,
    SOFTNPU_LIST_HOST_SYNCHRONIZE = 28,          /* ze_command_list_dditable_t, since 1.9 */
    SOFTNPU_LIST_EXP_GET_NEXT_COMMAND_ID = 2,    /* ze_command_list_exp_dditable_t, since 1.9 */
    SOFTNPU_LIST_EXP_UPDATE_MUTABLE_COMMANDS = 3,
};

/*
 * Functions that old headers do not declare. The names in C are ours, so that newer headers, whose
 * declarations differ in types, do not clash; the names in the library are Level Zero's.
 */
#define SOFTNPU_EXPORTED __attribute__((visibility("default")))

SOFTNPU_EXPORTED ze_result_t
softnpu_init_drivers(uint32_t *count, ze_driver_handle_t *drivers,
                     const struct softnpu_init_driver_type *descriptor) __asm__("zeInitDrivers");
SOFTNPU_EXPORTED ze_result_t
softnpu_get_runtime_requirements(ze_device_handle_t device,
                                 const struct softnpu_requirements_of_graph *descriptor,
                                 size_t *size, char *out) __asm__("zeDeviceGetRuntimeRequirements");
SOFTNPU_EXPORTED ze_result_t
softnpu_get_runtime_requirements_key(ze_device_handle_t device, const char **key)
    __asm__("zeDeviceGetRuntimeRequirementsKey");
SOFTNPU_EXPORTED ze_result_t
softnpu_validate_runtime_requirements(ze_device_handle_t device, const char *text,
                                      struct softnpu_requirements_result *out)
    __asm__("zeDeviceValidateRuntimeRequirements");
SOFTNPU_EXPORTED ze_result_t
softnpu_list_host_synchronize(ze_command_list_handle_t list, uint64_t timeout_ns)
    __asm__("zeCommandListHostSynchronize");
SOFTNPU_EXPORTED ze_result_t
softnpu_list_get_next_command_id(ze_command_list_handle_t list, const void *descriptor,
                                 uint64_t *id) __asm__("zeCommandListGetNextCommandIdExp");
SOFTNPU_EXPORTED ze_result_t
softnpu_list_update_mutable_commands(ze_command_list_handle_t list,
                                     const struct softnpu_mutable_commands *commands)
    __asm__("zeCommandListUpdateMutableCommandsExp");
