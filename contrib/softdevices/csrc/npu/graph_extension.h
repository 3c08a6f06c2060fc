/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "graph_abi.h"

/* The version of "ZE_extension_graph". */
uint32_t graph_extension_version(void);

/* The table of functions behind "ZE_extension_graph". */
const void *graph_extension_table(void);
