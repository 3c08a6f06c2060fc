/* SPDX-License-Identifier: Apache-2.0 */
/* What lives: one line for each object, "softva KIND name=value ...". Python reads it. */
#ifndef SOFTVA_REPORT_H
#define SOFTVA_REPORT_H

#include <stddef.h>

#include "display.h"

/* Writes what `display`, which ends, still has to where SOFTVA_REPORT says, and a line that says
 * that it ended. */
void softva_report_end(struct softva_display *display);

/* Gives what lives in all displays of this process, as text that softva_report_free frees. NULL
 * without memory. */
SOFTVA_EXPORT char *softva_report_live(void);
SOFTVA_EXPORT void softva_report_free(char *text);

#endif
