/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTVA_FAIL: functions that are made to fail, so that a program's handling can be tested. */
#ifndef SOFTVA_FAULTS_H
#define SOFTVA_FAULTS_H

#include <stdbool.h>
#include <va/va.h>

enum { SOFTVA_MAX_FAULTS = 16, SOFTVA_MAX_FUNCTION_NAME = 48 };

struct softva_fault {
    char function[SOFTVA_MAX_FUNCTION_NAME];
    unsigned long calls_left; /* that succeed */
    VAStatus status;
};

struct softva_faults {
    struct softva_fault faults[SOFTVA_MAX_FAULTS];
    unsigned int count;
};

/* Reads SOFTVA_FAIL; false if it has no meaning. */
bool softva_faults_read(struct softva_faults *faults);

/* Counts a call of `function`, and gives what it fails with, or VA_STATUS_SUCCESS. */
VAStatus softva_faults_count(struct softva_faults *faults, const char *function);

#endif
