/* SPDX-License-Identifier: Apache-2.0 */
/* fork() while threads open and use displays: each child uses the one it inherited, and its own. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { THREADS = 2, CHILDREN = 300, SECONDS_OF_A_CHILD = 20 };

static atomic_bool is_over;

static void use(struct display *display)
{
    VASurfaceID surface = make_surface(display, VA_FOURCC_NV12, 64, 32);

    CHECK(display->calls.vaDestroySurfaces(&display->context, &surface, 1) == VA_STATUS_SUCCESS);
}

static void *work(void *user)
{
    while (!atomic_load(&is_over)) {
        struct display own;

        use(user);
        open_display(&own, NULL, NULL);
        close_display(&own);
    }
    return NULL;
}

static void use_in_child(struct display *inherited)
{
    struct display own;

    alarm(SECONDS_OF_A_CHILD); /* a lock that nobody gives back */
    use(inherited);
    open_display(&own, NULL, NULL);
    use(&own);
    close_display(&own);
    exit(0);
}

void check_forks(void)
{
    pthread_t running[THREADS];
    struct display display;

    open_display(&display, NULL, NULL);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&running[i], NULL, work, &display) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        int status = 0;
        pid_t child = fork();

        if (child == 0)
            use_in_child(&display);
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(running[i], NULL) == 0);
    close_display(&display);
}
