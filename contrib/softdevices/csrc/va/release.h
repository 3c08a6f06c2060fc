/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTVA_RELEASE_H
#define SOFTVA_RELEASE_H

#include "display.h"

/* Frees all objects that a display still has. */
void softva_release_all(struct softva_display *display);

#endif
