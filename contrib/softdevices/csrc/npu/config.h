/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samebytes' software NPU: a Level Zero driver whose device is the CPU.
 *
 * One library plays two parts:
 *   a driver      under the real loader: ZE_ENABLE_ALT_DRIVERS=<path>/libsoftnpu.so
 *   a loader too  found under the name libze_loader.so.1, where the installed loader is too old for
 *                 OpenVINO's NPU plugin (stand_in.c)
 *
 * The environment is read once, when the library is first used:
 *   SOFTNPU_TRACE       a file, or "stderr": one line for each call of interest (trace.h)
 *   SOFTNPU_DELAY_US    each submission waits so many microseconds on the queue's thread before it
 *                       runs, so that a wait that somebody forgot shows as old bytes
 *   SOFTNPU_DEVICES     "npu" (default), "gpu" or "npu,gpu": each is a driver with one device. The
 *                       software GPU has memory and copies and no kernels: it is there for code
 *                       that must distinguish two devices
 *   SOFTNPU_PLATFORM    which NPU is played: 3720, 4000 (default), 5010 or 5020
 *   SOFTNPU_STRIDES     "1": the graph extension has version 1.15, and graphs take arguments whose
 *                       elements lie apart, as those do that were compiled for it
 *   SOFTNPU_OPENVINO_C  the path of libopenvino_c.so, for processes that have not loaded OpenVINO
 *                       themselves; where they have, the library beside theirs is taken
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct config {
    const char *trace; /* NULL: no trace */
    uint64_t delay_us;
    bool has_npu;
    bool has_gpu;
    unsigned platform;
    bool has_strides;
    const char *openvino_c; /* NULL: not given */
};

const struct config *config(void);
