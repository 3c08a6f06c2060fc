/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "command.h"

/* Add what a closed list has recorded to `commands`, for its execution. */
ze_result_t command_list_add_to(ze_command_list_handle_t handle, struct commands *commands);

/*
 * Record `command` (or none, if it is NULL) after waits for events and before the signal of one.
 * An immediate list submits it. The command's context is filled in.
 */
ze_result_t command_list_append(ze_command_list_handle_t handle, struct command *command,
                                ze_event_handle_t signal, uint32_t wait_count,
                                ze_event_handle_t *waits);
