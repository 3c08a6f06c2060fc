/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FUNCTIONS = 256, MAX_NAME = 64 };

struct counted {
    const char *function; /* a literal of the library that calls */
    unsigned long calls;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t is_ready = PTHREAD_ONCE_INIT;
static struct counted counts[MAX_FUNCTIONS];
static char wanted[MAX_NAME];
static unsigned long successes_left;
static int wanted_status;
static bool has_failed;

/* NAME[@N][=STATUS]. What has no meaning names no function, so nothing fails. */
static void read_environment(void)
{
    const char *text = getenv("SOFTDEVICES_FAIL");
    size_t length = text ? strcspn(text, "@=") : 0;

    if (!length || length >= sizeof wanted)
        return;
    memcpy(wanted, text, length);
    text += length;
    if (*text == '@')
        successes_left = strtoul(text + 1, (char **)&text, 0);
    if (*text == '=')
        wanted_status = (int)strtol(text + 1, NULL, 0);
}

static void take_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void give_lock(void)
{
    pthread_mutex_unlock(&lock);
}

/* Locked over fork(): a child has no other thread, which could give the lock back there. */
static void begin(void)
{
    read_environment();
    pthread_atfork(take_lock, give_lock, give_lock);
}

static void count(const char *function)
{
    for (size_t i = 0; i < MAX_FUNCTIONS; i++) {
        if (!counts[i].function)
            counts[i].function = function;
        if (strcmp(counts[i].function, function) == 0) {
            counts[i].calls++;
            return;
        }
    }
}

static bool is_the_one(const char *function)
{
    if (has_failed || strcmp(wanted, function) != 0)
        return false;
    if (successes_left) {
        successes_left--;
        return false;
    }
    has_failed = true;
    return true;
}

int softdevices_fault(const char *function, int usual)
{
    int status = 0;

    pthread_once(&is_ready, begin);
    take_lock();
    count(function);
    if (is_the_one(function))
        status = wanted_status ? wanted_status : usual;
    give_lock();
    return status;
}

void softdevices_fail(const char *function, unsigned long successes, int status)
{
    pthread_once(&is_ready, begin);
    take_lock();
    memset(counts, 0, sizeof counts);
    memset(wanted, 0, sizeof wanted);
    if (function)
        strncpy(wanted, function, sizeof wanted - 1);
    successes_left = successes;
    wanted_status = status;
    has_failed = false;
    give_lock();
}

int softdevices_failed(void)
{
    take_lock();
    int failed = has_failed;
    give_lock();
    return failed;
}

const char *softdevices_calls(unsigned int place, unsigned long *calls)
{
    const char *function = NULL;

    take_lock();
    if (place < MAX_FUNCTIONS) {
        function = counts[place].function;
        *calls = counts[place].calls;
    }
    give_lock();
    return function;
}
