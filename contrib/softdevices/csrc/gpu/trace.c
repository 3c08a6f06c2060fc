/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool tracing;

void softgpu_trace_init(void)
{
    const char *wish = getenv("SOFTGPU_TRACE");
    tracing = wish && strcmp(wish, "1") == 0;
}

void softgpu_trace(const char *format, ...)
{
    char line[512];
    va_list arguments;

    if (!tracing)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    /* One call for the whole line, so that lines of several threads do not mix. */
    fprintf(stderr, "softgpu: %s\n", line);
}
