/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver keeps for one VADisplay, and what all of its functions begin and end with. */
#ifndef SOFTVA_DISPLAY_H
#define SOFTVA_DISPLAY_H

#include <pthread.h>
#include <sys/types.h>
#include <va/va.h>
#include <va/va_backend.h>

#include "descriptors.h"
#include "faults.h"
#include "objects.h"
#include "options.h"

/* A function that Python calls directly, or libva. */
#define SOFTVA_EXPORT __attribute__((visibility("default")))

struct softva_display {
    pthread_mutex_t lock; /* held throughout each call */
    struct softva_options options;
    struct softva_faults faults;
    struct softva_table table;
    struct softva_descriptors descriptors; /* that were exported */
    pid_t process;                         /* that opened it: a fork has a copy */
    struct softva_display *next;
};

/* A call that is under way. */
struct softva_call {
    struct softva_display *display;
    const char *function;
};

/* Gives a display for the driver context, or the reason why there is none. */
VAStatus softva_display_open(VADriverContextP context);

/* Ends the display: reports what still lives, and frees it. */
void softva_display_close(struct softva_display *display);

/* Locks the display. Gives what SOFTVA_FAIL wants `function` to fail with, or VA_STATUS_SUCCESS.
 * softva_end must follow in both cases. */
VAStatus softva_begin(struct softva_call *call, VADriverContextP context, const char *function);

/* Unlocks the display, and gives `status`. */
VAStatus softva_end(struct softva_call *call, VAStatus status);

/* Prints one line if SOFTVA_TRACE wants it. */
void softva_trace(const struct softva_display *display, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Calls `visit` for each display that this process opened, each locked. If `patient` is false, one
 * that another thread uses is left out. */
void softva_for_displays(bool patient, void (*visit)(struct softva_display *display, void *user),
                         void *user);

#endif
