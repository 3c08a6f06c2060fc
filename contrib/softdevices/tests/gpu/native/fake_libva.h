/* SPDX-License-Identifier: Apache-2.0 */
/* A libva of two functions. A display is what the test says. */
#ifndef FAKE_LIBVA_H
#define FAKE_LIBVA_H

#include <stdint.h>

#include "../../../csrc/gpu/va_abi.h"

struct fake_display {
    unsigned int surface; /* the only one; another fails */
    struct softgpu_va_descriptor descriptor; /* whose fd is given as duplicates */
    unsigned int waits;
};

#endif
