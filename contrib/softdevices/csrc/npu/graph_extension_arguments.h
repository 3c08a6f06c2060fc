/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "graph.h"
#include "graph_abi.h"

/* pfnGetArgumentProperties of 1.0, 1.1 and 1.2: each fills more of the structure. */
ze_result_t graph_get_argument(struct graph *handle, uint32_t index,
                               struct graph_argument_properties *out);
ze_result_t graph_get_argument_2(struct graph *handle, uint32_t index,
                                 struct graph_argument_properties *out);
ze_result_t graph_get_argument_3(struct graph *handle, uint32_t index,
                                 struct graph_argument_properties *out);

/* pfnGraphGetArgumentMetadata of 1.1 */
ze_result_t graph_get_metadata(struct graph *handle, uint32_t index,
                               struct graph_argument_metadata *out);
