# SPDX-License-Identifier: Apache-2.0
"""Show which calls of the CUDA driver wait on the CPU while a stream is busy.

    python3 contrib/cuda/tools/waits.py

A stream is kept busy for 150 ms in each of three ways: by a function of the host, by copies on the
device, and by waiting for a value that the CPU writes. Each line is a call made meanwhile: how long
it took, and "waited" where the stream was done when it returned. Each call is made once before, as
the first use of one may load code.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
import time
from collections.abc import Callable
from typing import Any

from cuda.bindings import driver

DELAY = 150_000
SIZE = 1 << 16
LARGE = 1 << 30

Call = Callable[[int], object]

# Memory that the calls use by its address.
_kept: list[object] = []


def ok(answer: tuple[Any, ...]) -> Any:
    """The values that a call returns beside its status, which must be success."""
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


def by_function() -> Call:
    """Delays a stream by a function of the host.

    Not by cuda-bindings' cuLaunchHostFunc: in version 13.3 that calls the function holding
    Python's lock, so Python waits where the driver does not.
    """
    launch = ctypes.CDLL("libcuda.so.1").cuLaunchHostFunc
    launch.argtypes = [ctypes.c_void_p] * 3
    sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p)
    return lambda busy: ok((launch(busy, sleep, DELAY), None))


def by_copies() -> Call:
    """Delays a stream by copies within the device."""
    one, other = (int(ok(driver.cuMemAlloc(LARGE))) for _ in range(2))

    def copies(busy: int, count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            ok(driver.cuMemcpyDtoDAsync(one, other, LARGE, busy))
        if count <= 4:
            ok(driver.cuStreamSynchronize(busy))
        return time.perf_counter() - start

    first = stream()
    copies(first, 1)
    count = min(int(DELAY / 1e6 * 4 / copies(first, 4)) + 5, 500)
    return lambda busy: copies(busy, count)


def by_value() -> Call:
    """Delays a stream until the CPU writes a value."""
    places = int(ok(driver.cuMemHostAlloc(4096, 1)))
    number = iter(range(1024))

    def wait(busy: int) -> None:
        place = places + 4 * next(number)
        ctypes.c_uint32.from_address(place).value = 0
        ok(driver.cuStreamWaitValue32(busy, place, 1, 1))  # until it is 1
        release = ctypes.c_uint32.from_address(place)
        threading.Timer(DELAY / 1e6, setattr, (release, "value", 1)).start()

    return wait


def chain(busy: int, other: int, between: int = 1) -> None:
    """The order that a mapping with a queue makes."""
    order(busy, between)
    order(between, other)


def calls() -> dict[str, Call]:
    """The calls by their names; each takes the stream that is busy."""
    device = int(ok(driver.cuMemAlloc(SIZE)))
    to_free = [int(ok(driver.cuMemAlloc(SIZE))) for _ in range(8)]
    pinned = int(ok(driver.cuMemHostAlloc(SIZE, 1)))
    pinned_to_free = [int(ok(driver.cuMemHostAlloc(SIZE, 1))) for _ in range(8)]
    other, area = stream(), mmap.mmap(-1, SIZE + 4096)
    pageable = ctypes.addressof(ctypes.c_char.from_buffer(area))
    page = pageable + SIZE
    _kept.append(area)
    kind = driver.CUpointer_attribute(2)
    event = ok(driver.cuEventCreate(2))
    primary = ok(driver.cuDevicePrimaryCtxRetain(0))
    return {
        "nothing": lambda _: None,
        "cuCtxPushCurrent, cuCtxPopCurrent": lambda _: (
            driver.cuCtxPushCurrent(primary),
            driver.cuCtxPopCurrent(),
        ),
        "cuDevicePrimaryCtxRetain": lambda _: ok(driver.cuDevicePrimaryCtxRetain(0)),
        "cuDevicePrimaryCtxRelease": lambda _: driver.cuDevicePrimaryCtxRelease(0),
        "cuDeviceGetName": lambda _: ok(driver.cuDeviceGetName(99, 0)),
        "cuPointerGetAttribute": lambda _: ok(driver.cuPointerGetAttribute(kind, device)),
        "cuStreamGetCtx": lambda busy: ok(driver.cuStreamGetCtx(busy)),
        "cuEventCreate": lambda _: ok(driver.cuEventCreate(2)),
        "cuEventRecord, busy stream": lambda busy: ok(driver.cuEventRecord(event, busy)),
        "cuEventRecord, legacy stream": lambda _: ok(driver.cuEventRecord(event, 1)),
        "cuEventRecord, another stream": lambda _: ok(driver.cuEventRecord(event, other)),
        "event, busy stream to legacy stream": lambda busy: order(busy, 1),
        "event, busy stream to another": lambda busy: order(busy, other),
        "event, busy to legacy to another": lambda busy: chain(busy, other),
        "event, busy to per-thread to another": lambda busy: chain(busy, other, 2),
        "cuStreamCreate": lambda _: stream(),
        "cuStreamQuery, another stream": lambda _: driver.cuStreamQuery(other),
        "cuMemGetInfo": lambda _: ok(driver.cuMemGetInfo()),
        "cuMemAlloc": lambda _: ok(driver.cuMemAlloc(SIZE)),
        "cuMemAlloc, 64 MiB": lambda _: ok(driver.cuMemAlloc(64 << 20)),
        "cuMemFree": lambda _: driver.cuMemFree(to_free.pop()),
        "cuMemHostAlloc": lambda _: ok(driver.cuMemHostAlloc(SIZE, 1)),
        "cuMemFreeHost": lambda _: driver.cuMemFreeHost(pinned_to_free.pop()),
        "cuMemAllocManaged": lambda _: ok(driver.cuMemAllocManaged(SIZE, 1)),
        "cuMemHostRegister": lambda _: ok(driver.cuMemHostRegister(page, 4096, 1)),
        "cuMemHostUnregister": lambda _: ok(driver.cuMemHostUnregister(page)),
        "cuMemHostGetDevicePointer": lambda _: ok(driver.cuMemHostGetDevicePointer(pinned, 0)),
        "cuMemcpyDtoHAsync to pinned, busy stream": lambda busy: ok(
            driver.cuMemcpyDtoHAsync(pinned, device, SIZE, busy)
        ),
        "cuMemcpyDtoHAsync to pageable, another stream": lambda _: ok(
            driver.cuMemcpyDtoHAsync(pageable, device, SIZE, other)
        ),
        "cuMemcpyHtoDAsync of pageable, another stream": lambda _: ok(
            driver.cuMemcpyHtoDAsync(device, pageable, SIZE, other)
        ),
        "cuMemcpyHtoDAsync of pageable, busy stream": lambda busy: ok(
            driver.cuMemcpyHtoDAsync(device, pageable, SIZE, busy)
        ),
    }


def main() -> None:
    """Print a line for each way to be busy and each call."""
    ok(driver.cuInit(0))
    ok(driver.cuCtxPushCurrent(ok(driver.cuDevicePrimaryCtxRetain(0))))
    ways = {"a function": by_function, "copies": by_copies, "a value": by_value}
    made = calls()
    for call in made.values():
        call(stream())
        ok(driver.cuCtxSynchronize())
    for way, make in ways.items():
        try:
            delay = make()
            delay(stream())
            ok(driver.cuCtxSynchronize())
        except RuntimeError as error:
            print(f"busy with {way}: {error}")
            continue
        for name, call in made.items():
            busy = stream()
            delay(busy)
            start = time.perf_counter()
            call(busy)
            took = time.perf_counter() - start
            state = "did not wait" if int(driver.cuStreamQuery(busy)[0]) else "waited"
            print(f"busy with {way}: {name}: {took * 1e3:.2f} ms, {state}", flush=True)
            ok(driver.cuCtxSynchronize())


if __name__ == "__main__":
    main()
