/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <stdlib.h>
#include <string.h>

/* Reads a number that follows the letter `mark`, if that is next; gives whether all is well. */
static bool read_number(const char **text, char mark, unsigned long *number)
{
    char *end;

    if (**text != mark)
        return true;
    *number = strtoul(*text + 1, &end, 0);
    if (end == *text + 1)
        return false;
    *text = end;
    return true;
}

/* Reads NAME[@N][=STATUS]. */
static bool read_fault(const char **text, struct softva_fault *fault)
{
    size_t length = strcspn(*text, "@=,");
    unsigned long status = VA_STATUS_ERROR_OPERATION_FAILED;

    if (!length || length >= sizeof fault->function)
        return false;
    memcpy(fault->function, *text, length);
    fault->function[length] = '\0';
    fault->calls_left = 0;
    *text += length;
    if (!read_number(text, '@', &fault->calls_left) || !read_number(text, '=', &status))
        return false;
    fault->status = (VAStatus)status;
    return status && (!**text || **text == ',');
}

bool softva_faults_read(struct softva_faults *faults)
{
    const char *text = getenv("SOFTVA_FAIL");

    faults->count = 0;
    while (text && *text) {
        if (faults->count == SOFTVA_MAX_FAULTS ||
            !read_fault(&text, &faults->faults[faults->count]))
            return false;
        faults->count++;
        if (*text == ',')
            text++;
    }
    return true;
}

VAStatus softva_faults_count(struct softva_faults *faults, const char *function)
{
    for (unsigned int i = 0; i < faults->count; i++) {
        struct softva_fault *fault = &faults->faults[i];

        if (strcmp(fault->function, function) != 0)
            continue;
        if (!fault->calls_left)
            return fault->status;
        fault->calls_left--;
    }
    return VA_STATUS_SUCCESS;
}
