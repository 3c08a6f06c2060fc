/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork() while other threads use the driver.
 *
 * The child has the thread that called fork() and no other. A lock that another thread held would
 * never be given back there, and a condition for which one waited could not be destroyed. So the
 * tables of the driver are locked over fork(), and in the child every object begins with new locks.
 * What a thread of the program was changing meanwhile (a list that it recorded, say) is the
 * program's to leave alone, as with any object that two threads use at once.
 */
#pragma once

/* From now on; called when the first handles are made. */
void fork_guard_install(void);
