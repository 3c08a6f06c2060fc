/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress(): from the names of functions to the functions. */
#pragma once

/*
 * The function that a caller of that version of CUDA means. One that this driver does not have
 * answers NOT_SUPPORTED; what does not begin as names of the driver API do is NULL.
 */
void *symbol_find(const char *name, int version);
