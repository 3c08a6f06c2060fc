/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that libva wants of every driver, for things that this one does not have. */
#ifndef SOFTVA_UNSUPPORTED_H
#define SOFTVA_UNSUPPORTED_H

#include <va/va_backend.h>

void softva_fill_unsupported(struct VADriverVTable *table);

#endif
