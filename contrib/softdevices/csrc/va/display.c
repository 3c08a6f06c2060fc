/* SPDX-License-Identifier: Apache-2.0 */
#include "display.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../faults/faults.h"
#include "release.h"
#include "report.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct softva_display *displays;
static pthread_once_t forks_watched = PTHREAD_ONCE_INIT;

static void lock_list(void)
{
    pthread_mutex_lock(&list_lock);
}

static void unlock_list(void)
{
    pthread_mutex_unlock(&list_lock);
}

/* A thread that held a display when the process forked never gives it back in the child. */
static void restart_in_child(void)
{
    for (struct softva_display *display = displays; display; display = display->next)
        pthread_mutex_init(&display->lock, NULL);
    unlock_list();
}

static void watch_forks(void)
{
    pthread_atfork(lock_list, unlock_list, restart_in_child);
}

static void tell_wrong_option(VADriverContextP context, const char *name)
{
    const char *value = getenv(name);
    char message[256];

    snprintf(message, sizeof message, "%s has a value without a meaning: %s", name,
             value ? value : "");
    if (context->error_callback)
        context->error_callback(context, message);
}

VAStatus softva_display_open(VADriverContextP context)
{
    struct softva_display *display = calloc(1, sizeof *display);
    const char *wrong;

    if (!display)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    wrong = softva_options_read(&display->options);
    if (!wrong && !softva_faults_read(&display->faults))
        wrong = "SOFTVA_FAIL";
    if (wrong) {
        tell_wrong_option(context, wrong);
        free(display);
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    }
    pthread_once(&forks_watched, watch_forks);
    display->process = getpid();
    pthread_mutex_init(&display->lock, NULL);
    pthread_mutex_lock(&list_lock);
    display->next = displays;
    displays = display;
    pthread_mutex_unlock(&list_lock);
    context->pDriverData = display;
    return VA_STATUS_SUCCESS;
}

void softva_display_close(struct softva_display *display)
{
    struct softva_display **link = &displays;

    pthread_mutex_lock(&list_lock);
    while (*link != display)
        link = &(*link)->next;
    *link = display->next;
    pthread_mutex_unlock(&list_lock);
    softva_report_end(display);
    softva_release_all(display);
    free(display->table.objects);
    softva_descriptors_free(&display->descriptors);
    pthread_mutex_destroy(&display->lock);
    free(display);
}

VAStatus softva_begin(struct softva_call *call, VADriverContextP context, const char *function)
{
    call->display = context->pDriverData;
    call->function = function;
    pthread_mutex_lock(&call->display->lock);
    VAStatus status = softva_faults_count(&call->display->faults, function);
    VAStatus requested = softdevices_fault(function, VA_STATUS_ERROR_OPERATION_FAILED);
    return requested ? requested : status;
}

VAStatus softva_end(struct softva_call *call, VAStatus status)
{
    softva_trace(call->display, "%s: %d", call->function, status);
    pthread_mutex_unlock(&call->display->lock);
    return status;
}

void softva_trace(const struct softva_display *display, const char *format, ...)
{
    char line[512];
    va_list arguments;

    if (!display->options.trace)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    /* One call for the whole line, so that lines of several threads do not mix. */
    fprintf(stderr, "softva: %s\n", line);
}

static bool take(pthread_mutex_t *lock, bool patient)
{
    if (!patient)
        return pthread_mutex_trylock(lock) == 0;
    pthread_mutex_lock(lock);
    return true;
}

void softva_for_displays(bool patient, void (*visit)(struct softva_display *display, void *user),
                         void *user)
{
    if (!take(&list_lock, patient))
        return;
    for (struct softva_display *display = displays; display; display = display->next) {
        if (display->process != getpid() || !take(&display->lock, patient))
            continue;
        visit(display, user);
        pthread_mutex_unlock(&display->lock);
    }
    pthread_mutex_unlock(&list_lock);
}
