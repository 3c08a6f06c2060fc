/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int descriptor = -1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_trace(void)
{
    const char *path = config()->trace;
    if (!path)
        return;
    if (strcmp(path, "stderr") == 0 || strcmp(path, "1") == 0)
        descriptor = STDERR_FILENO;
    else
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

bool trace_is_on(void)
{
    pthread_once(&once, open_trace);
    return descriptor >= 0;
}

void trace(const char *format, ...)
{
    if (!trace_is_on())
        return;
    char line[16384] = "softnpu ";
    const size_t prefix = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + prefix, sizeof line - prefix - 1, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    size_t end = prefix + (size_t)length;
    if (end > sizeof line - 2)
        end = sizeof line - 2;
    line[end] = '\n';
    /* A trace that cannot be written must not fail the program that is traced. */
    ssize_t ignored = write(descriptor, line, end + 1);
    (void)ignored;
}

const char *trace_word(const char *name, char *out, size_t size)
{
    size_t at = 0;
    for (const unsigned char *c = (const unsigned char *)name; *c && at + 4 < size; c++) {
        if (*c > ' ' && *c < 0x7f && *c != '%')
            out[at++] = (char)*c;
        else
            at += (size_t)snprintf(out + at, size - at, "%%%02X", *c);
    }
    out[at] = '\0';
    return out;
}
