/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTGPU_TRACE=1 prints the calls that this layer changes or emulates to stderr. */
#ifndef SOFTGPU_TRACE_H
#define SOFTGPU_TRACE_H

/* Reads the environment once; called when the layer is initialised. */
void softgpu_trace_init(void);

/* Prints one line, if tracing is on. */
void softgpu_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
