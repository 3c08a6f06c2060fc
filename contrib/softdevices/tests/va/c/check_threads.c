/* SPDX-License-Identifier: Apache-2.0 */
/* One display, used by several threads at once. */
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 60 };

static void *work(void *user)
{
    struct display *display = user;
    const struct VADriverVTable *calls = &display->calls;

    for (int round = 0; round < ROUNDS; round++) {
        VASurfaceID surface = make_surface(display, VA_FOURCC_NV12, 64, 32), other;
        VAImage image = make_image(display, VA_FOURCC_NV12, 64, 32, (uint8_t)round), derived;
        VADRMPRIMESurfaceDescriptor descriptor;
        void *bytes;

        CHECK(calls->vaPutImage(&display->context, surface, image.image_id, 0, 0, 64, 32, 0, 0, 64,
                                32) == VA_STATUS_SUCCESS);
        CHECK(export_surface(display, surface, 0, &descriptor) == VA_STATUS_SUCCESS);
        CHECK(import_surface(display, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2, &descriptor,
                             &other) == VA_STATUS_SUCCESS);
        close_descriptors(&descriptor);
        CHECK(calls->vaDestroySurfaces(&display->context, &surface, 1) == VA_STATUS_SUCCESS);
        CHECK(calls->vaDeriveImage(&display->context, other, &derived) == VA_STATUS_SUCCESS);
        CHECK(calls->vaMapBuffer(&display->context, derived.buf, &bytes) == VA_STATUS_SUCCESS);
        CHECK(((uint8_t *)bytes)[5] == round);
        CHECK(calls->vaUnmapBuffer(&display->context, derived.buf) == VA_STATUS_SUCCESS);
        CHECK(calls->vaDestroyImage(&display->context, derived.image_id) == VA_STATUS_SUCCESS);
        CHECK(calls->vaDestroyImage(&display->context, image.image_id) == VA_STATUS_SUCCESS);
        CHECK(calls->vaDestroySurfaces(&display->context, &other, 1) == VA_STATUS_SUCCESS);
    }
    return NULL;
}

void check_threads(void)
{
    pthread_t running[THREADS];
    struct display display;

    open_display(&display, NULL, NULL);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&running[i], NULL, work, &display) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(running[i], NULL) == 0);
    CHECK(count_live("softva ") == 0);
    close_display(&display);
}
