/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace: what a test reads to see which pointers reached the device.
 *
 * A line is "softnpu CALL key=value key=value ...": single spaces, no spaces in values (names are
 * percent-encoded), pointers as %p writes them. Each line is one write(), so that lines of several
 * threads and processes never mix.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool trace_is_on(void);

/* Write a line; `format` starts with the name of the call. Costs nothing when the trace is off. */
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Write `name` into `out`, which has room for `size` bytes, so that it is one word. */
const char *trace_word(const char *name, char *out, size_t size);
