/* SPDX-License-Identifier: Apache-2.0 */
/* What lives, for tests that look for leaks: samebytes_softdevices.cuda_live(). */
#include "context.h"
#include "driver.h"
#include "event.h"
#include "ranges.h"
#include "stream.h"

#include <string.h>

EXPORT unsigned softcuda_live(const char *kind)
{
    static const char *const kinds[] = {"device", "pinned", "managed", "registered", "vmm", "external"};
    unsigned count = 0;

    driver_lock();
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i]) == 0)
            count = ranges_count((enum range_kind)i);
    for (CUcontext context = context_first(); context; context = context->next) {
        count += strcmp(kind, "context") == 0;
        if (strcmp(kind, "stream") == 0)
            for (struct stream *stream = context->streams; stream; stream = stream->next)
                count += !stream->is_legacy && !stream->is_collector && !stream->is_per_thread;
        if (strcmp(kind, "event") == 0)
            count += events_count(context);
    }
    driver_unlock();
    return count;
}
