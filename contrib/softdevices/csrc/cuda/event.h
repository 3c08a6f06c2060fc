/* SPDX-License-Identifier: Apache-2.0 */
/* Events: the work that was enqueued when one was recorded. The functions need the driver's lock. */
#pragma once

#include "cuda_abi.h"

/* End all events of a context. */
void events_end_of(CUcontext context);

/* How many there are. */
unsigned events_count(CUcontext context);
