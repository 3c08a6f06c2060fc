/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that fail on request, so that a test can show what a program makes of it.
 *
 * Each software device counts the calls of its functions here, and asks whether this one fails. A
 * program names one call: the call of that number, counted from the request on, fails once. Each
 * library has its own counts.
 *
 *   SOFTDEVICES_FAIL=NAME[@N][=STATUS]   of a program that cannot be changed: N calls succeed, the
 *                                        next one fails. Without a status it is the usual one of
 *                                        the library.
 */
#ifndef SOFTDEVICES_FAULTS_H
#define SOFTDEVICES_FAULTS_H

#define SOFTDEVICES_EXPORT __attribute__((visibility("default")))

/* Counts a call. Gives 0, or the status that it fails with. `usual` is the status of a request
 * that named none. */
int softdevices_fault(const char *function, int usual);

/* Lets one call of `function` fail, after `successes` of them; NULL takes the request back. The
 * status 0 stands for the usual one. Counts begin again. */
SOFTDEVICES_EXPORT void softdevices_fail(const char *function, unsigned long successes, int status);

/* Whether the call that was requested has come, and failed. */
SOFTDEVICES_EXPORT int softdevices_failed(void);

/* The number of calls of the function at `place` of the list since counts began, and its name;
 * NULL beyond the end of the list. */
SOFTDEVICES_EXPORT const char *softdevices_calls(unsigned int place, unsigned long *calls);

#endif
