/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "object.h"
#include "waitable.h"

struct fence {
    struct object object;
    struct waitable state;
};
