/* SPDX-License-Identifier: Apache-2.0 */
#include "fork_guard.h"

#include "object.h"
#include "openvino_c.h"
#include "queue.h"

#include <pthread.h>

static void before(void)
{
    queues_lock();
    objects_lock();
}

static void in_parent(void)
{
    objects_unlock();
    queues_unlock();
}

static void in_child(void)
{
    objects_restart();
    queues_restart();
    openvino_c_restart();
    in_parent();
}

void fork_guard_install(void)
{
    pthread_atfork(before, in_parent, in_child);
}
