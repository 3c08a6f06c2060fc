# SPDX-License-Identifier: Apache-2.0
"""Which calls of the CUDA driver wait on the CPU while a stream is busy with something else.

    python3 contrib/cuda/tools/waits.py

A stream is delayed for 150 ms by a function of the host. Each line is a call made meanwhile: how
long it took, and "waited" where the stream was done when it returned. Each call is made twice, as
the first use of one may load code.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

from cuda.bindings import driver

DELAY = 150_000
SIZE = 1 << 16


def ok(answer: tuple[Any, ...]) -> Any:
    """What a call returns beside its result, which must be success."""
    if int(answer[0]):
        raise RuntimeError(str(answer[0]))
    return answer[1] if len(answer) == 2 else answer[1:]


def stream() -> int:
    """A new stream, which does not wait for the default stream."""
    return int(ok(driver.cuStreamCreate(1)))


def order(first: int, second: int) -> None:
    """Let the second stream wait for the first, by an event."""
    event = ok(driver.cuEventCreate(2))
    ok(driver.cuEventRecord(event, first))
    ok(driver.cuStreamWaitEvent(second, event, 0))
    ok(driver.cuEventDestroy(event))


def main() -> None:
    """Print two lines for each call."""
    ok(driver.cuInit(0))
    ok(driver.cuCtxPushCurrent(ok(driver.cuDevicePrimaryCtxRetain(0))))
    device = int(ok(driver.cuMemAlloc(SIZE)))
    to_free = [int(ok(driver.cuMemAlloc(SIZE))) for _ in range(2)]
    pinned = int(ok(driver.cuMemHostAlloc(SIZE, 1)))
    pinned_to_free = [int(ok(driver.cuMemHostAlloc(SIZE, 1))) for _ in range(2)]
    pages = ctypes.create_string_buffer(SIZE)
    pageable, other = ctypes.addressof(pages), stream()
    kind = driver.CUpointer_attribute(2)
    calls: dict[str, Callable[[int], object]] = {
        "nothing": lambda _: None,
        "cuDevicePrimaryCtxRetain": lambda _: ok(driver.cuDevicePrimaryCtxRetain(0)),
        "cuDevicePrimaryCtxRelease": lambda _: driver.cuDevicePrimaryCtxRelease(0),
        "cuDeviceGetName": lambda _: ok(driver.cuDeviceGetName(99, 0)),
        "cuDeviceGetUuid": lambda _: ok(driver.cuDeviceGetUuid(0)),
        "cuDeviceGetPCIBusId": lambda _: ok(driver.cuDeviceGetPCIBusId(32, 0)),
        "cuPointerGetAttribute": lambda _: ok(driver.cuPointerGetAttribute(kind, device)),
        "event, busy stream to legacy stream": lambda busy: order(busy, 1),
        "event, busy stream to another": lambda busy: order(busy, other),
        "cuStreamCreate": lambda _: stream(),
        "cuMemGetInfo": lambda _: ok(driver.cuMemGetInfo()),
        "cuMemAlloc": lambda _: ok(driver.cuMemAlloc(SIZE)),
        "cuMemFree": lambda _: driver.cuMemFree(to_free.pop()),
        "cuMemHostAlloc": lambda _: ok(driver.cuMemHostAlloc(SIZE, 1)),
        "cuMemFreeHost": lambda _: driver.cuMemFreeHost(pinned_to_free.pop()),
        "cuMemAllocManaged": lambda _: ok(driver.cuMemAllocManaged(SIZE, 1)),
        "cuMemcpyDtoHAsync to pinned, busy stream": lambda busy: ok(
            driver.cuMemcpyDtoHAsync(pinned, device, SIZE, busy)
        ),
        "cuMemcpyDtoHAsync to pageable, another stream": lambda _: ok(
            driver.cuMemcpyDtoHAsync(pageable, device, SIZE, other)
        ),
    }
    libc = ctypes.CDLL(None)
    sleep = driver.CUhostFn(ctypes.cast(libc.usleep, ctypes.c_void_p).value)
    for name, call in calls.items():
        for _ in range(2):
            busy = stream()
            ok(driver.cuLaunchHostFunc(busy, sleep, DELAY))
            ok(driver.cuMemsetD8Async(device, 7, SIZE, busy))
            start = time.perf_counter()
            call(busy)
            took = time.perf_counter() - start
            state = "did not wait" if int(driver.cuStreamQuery(busy)[0]) else "waited"
            print(f"{name}: {took * 1e3:.2f} ms, {state}", flush=True)
            ok(driver.cuCtxSynchronize())


if __name__ == "__main__":
    main()
