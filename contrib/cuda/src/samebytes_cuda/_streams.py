# SPDX-License-Identifier: Apache-2.0
"""Streams, and the one rule by which work on memory is ordered.

The rule: whatever is pending on memory of a context, as far as samebytes can know, is ordered
before the future of the context's legacy default stream ("home"). Who lends memory to samebytes
lets home wait; who gets memory from samebytes waits for home. So two streams are ordered by one
event each, without waiting on the CPU, and nobody needs to remember which stream wrote what.

Memory of another framework that is mapped for a caller's stream is ordered before that alone, and
before home when somebody else gets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from ctypes import CFUNCTYPE, c_int, c_uint, c_void_p
from functools import cache, partial
from typing import Any
from weakref import ref

from samebytes.errors import DeviceMismatchError, NativeError, UnsupportedObjectError
from samebytes.plugins import native_pointer

from ._driver import LEGACY_STREAM, Current, Home, call, check, driver

__all__ = [
    "PER_THREAD_STREAM", "check_device", "check_queue", "follow", "follows_home", "follows_home_of",
    "free_events", "handle_of", "is_handle", "known_handle", "known_streams", "order",
    "order_known", "precede",
]  # fmt: skip

PER_THREAD_STREAM = 2
"""The default stream of the thread that says so: another one in each thread."""
_LARGEST_HANDLE = 2**64 - 1
_PAGE = 4096
"""Handles are pointers, and no system has memory at the first ones. CUDA's drivers read there."""
_DISABLE_TIMING = 2
"""CU_EVENT_DISABLE_TIMING."""
_NON_BLOCKING = 1
"""CU_STREAM_NON_BLOCKING."""
_CUDA_12 = 12000
"""The version of CUDA whose functions are asked for."""
_LAST = (-1,)
_ATTRIBUTES = ("cuda_stream", "ptr", "handle")
"""The attributes in which torch, CuPy and Numba keep the handles of their streams."""


def handle_of(queue: Any) -> int:
    """The CUstream that `queue` means.

    Args:
        queue: a handle as an int, a `ctypes.c_void_p` or a CUstream of cuda-bindings; or a stream
            of cuda.core (`__cuda_stream__`), torch, CuPy or Numba. None and 0 are the legacy
            default stream. The stream must exist: of a number nobody can find that out, and drivers
            crash where it does not.

    Raises:
        UnsupportedObjectError: it is none of these, or a number that cannot be a handle, because it
            is negative, too large, or as small as the number of a stream in a list.
    """
    if queue is None:
        return LEGACY_STREAM
    handle = _number_of(queue)
    if handle and not is_handle(handle):
        raise UnsupportedObjectError(
            f"{handle} is not the handle of a CUDA stream: pass the stream itself, or None for the "
            "legacy default stream"
        )
    return handle or LEGACY_STREAM


def is_handle(stream: Any) -> bool:
    """True if `stream` is an int that can be a CUstream, except the legacy default stream (0)."""
    if not isinstance(stream, int) or isinstance(stream, bool):
        return False
    return stream in (LEGACY_STREAM, PER_THREAD_STREAM) or _PAGE <= stream <= _LARGEST_HANDLE


def _number_of(queue: Any) -> int:
    number = queue
    protocol = getattr(queue, "__cuda_stream__", None)
    if protocol is not None:
        number = protocol() if callable(protocol) else protocol
        number = number[1] if isinstance(number, tuple | list) and len(number) == 2 else None
    elif isinstance(queue, c_void_p):
        return native_pointer(queue, "a CUstream")
    else:
        for name in _ATTRIBUTES:
            handle = getattr(queue, name, None)
            if isinstance(handle, int):
                return handle
    try:
        if not isinstance(number, float | str | bytes):  # which int() would take, too
            return int(number)
    except (TypeError, ValueError):
        pass
    raise UnsupportedObjectError(
        f"a {type(queue).__name__} is not a CUDA stream: pass a CUstream of cuda-bindings, a "
        "stream of torch, CuPy, Numba or cuda.core, or the handle of one as an int"
    )


def precede(context: Home, stream: int) -> None:
    """Let home wait for what is enqueued on `stream`."""
    order(context, stream, LEGACY_STREAM)


def follow(context: Home, stream: int) -> None:
    """Let `stream` wait for what is pending on home."""
    if stream != LEGACY_STREAM:
        order(context, LEGACY_STREAM, stream)


def order(context: Home, first: int, *others: int) -> None:
    """Let other streams wait for what is enqueued on the first one.

    Raises:
        DeviceMismatchError: one of them belongs to another context.
    """
    later = [stream for stream in others if stream != first]
    if later:
        for stream in (first, *later):
            check_device(context, stream)
        order_known(context, first, later)


def order_known(
    context: Home, first: int, later: Sequence[int], *, is_current: bool = False
) -> None:
    """Do the same with streams that `check_device` has seen, and that are held since then.

    Args:
        context: that of the streams.
        first: what is enqueued there is waited for.
        later: at least one stream, and none of them the first.
        is_current: the CUcontext is current in this thread.
    """
    # Written out for each frame of each decoder. Between two frames the decoder empties the caches
    # of the processor, so that each function of Python costs microseconds: there are few.
    spare = _spare.setdefault(context.ordinal, []) if context.is_primary else []
    taken: list[tuple[Any, Any]] = []
    try:
        # Streams by their own handles and an event that is there need no current context.
        if is_current or min(first, *later) > PER_THREAD_STREAM:
            try:  # noqa: SIM105 - suppress() is four functions of Python
                taken.extend(map(spare.pop, _LAST))
            except IndexError:
                pass
        if not (taken or is_current):
            with Current(context.native):
                order_known(context, first, later, is_current=True)
            return
        if not taken:
            taken.extend(map(driver.cuEventCreate, (_DISABLE_TIMING,)))
            if code := taken[0][0]:
                taken.clear()
                check("cuEventCreate", code)
        record, wait = _functions()
        event = int(taken[0][1])
        if code := record(event, first):
            check("cuEventRecord", code)
        for stream in later:
            # It waits for what the event stands for now, whatever that is used for next.
            if code := wait(stream, event, 0):
                check("cuStreamWaitEvent", code)
    finally:
        if context.is_primary:
            spare.extend(taken)
        elif taken:
            _destroy(taken)


@cache
def _functions() -> tuple[Any, Any]:
    """cuEventRecord and cuStreamWaitEvent by themselves.

    cuda-bindings makes objects of Python for streams and results, by functions of Python.
    """
    return tuple(
        CFUNCTYPE(c_int, c_void_p, c_void_p, *more)(
            int(call(driver.cuGetProcAddress, name, _CUDA_12, 0)[0])
        )
        for name, *more in ((b"cuEventRecord",), (b"cuStreamWaitEvent", c_uint))
    )  # type: ignore[return-value]  # there are two


# Events that wait to be used again, by the device's ordinal, as cuEventCreate gave them. Those of
# other contexts than the primary one may end with it. Only lists' own atomic steps: memory may be
# given back in the garbage collector, which may run anywhere.
_spare: dict[int, list[tuple[Any, Any]]] = {}


def free_events(context: Home) -> None:
    """Drop what is kept for a context: events that wait to be used again, and callers' streams."""
    context.queues.clear()
    if context.is_primary:
        spare, _spare[context.ordinal] = _spare.get(context.ordinal, []), []
        with Current(context.native):
            _destroy(spare)


def _destroy(events: list[tuple[Any, Any]]) -> None:
    while events:
        driver.cuEventDestroy(events.pop()[1])


def follows_home(stream: int) -> bool:
    """True if CUDA itself orders work on a stream and on home, whichever is enqueued first.

    It does so for streams that were made without CU_STREAM_NON_BLOCKING.

    Args:
        stream: the CUstream, which `check_device` has seen.
    """
    if stream in (LEGACY_STREAM, PER_THREAD_STREAM):
        return stream == LEGACY_STREAM
    return not call(driver.cuStreamGetFlags, driver.CUstream(stream)) & _NON_BLOCKING


def follows_home_of(context: Home, stream: int, holder: object) -> bool:
    """The answers of `check_device` and `follows_home`, asked for once while an object lives.

    Each of the driver's answers costs one of several decoders, which use the driver too, a part of
    its frames.

    Args:
        context: that of the stream.
        stream: the CUstream.
        holder: keeps the stream for as long as it lives; else, as an int does not, the driver is
            asked each time. Of a plugin: for streams of callers there is `check_queue`.

    Raises:
        DeviceMismatchError: it belongs to another context.
    """
    key = int(context.native), stream
    known = known_streams.get(id(holder))
    if known is not None and known[0] == key:
        return known[1]
    check_device(context, stream)
    found = follows_home(stream)
    with suppress(TypeError):  # it has no weak references
        # C code forgets what has ended, which works even while the interpreter ends.
        end = ref(holder, partial(known_streams.pop, id(holder)))
        known_streams[id(holder)] = key, found, end
    return found


known_streams: dict[int, tuple[tuple[int, int], bool, ref[Any]]] = {}
"""By the id() of what holds a stream, as long as that lives: the CUcontext and the stream itself,
and if it follows home. A WeakKeyDictionary would call five functions of Python for each frame."""


def known_handle(context: Home, queue: Any) -> int:
    """The CUstream of a caller's object, as of `handle_of` and `check_queue`, asked for at once.

    Raises:
        DeviceMismatchError, UnsupportedObjectError: as of the two.
    """
    handle = handle_of(queue)
    check_queue(context, handle, queue)
    return handle


def check_queue(context: Home, stream: int, queue: Any) -> None:
    """Do as `check_device` does, and ask the driver once about the stream of a caller's object.

    Args:
        context: the one that it should belong to.
        stream: the CUstream.
        queue: what the caller passed for it. The context holds the latest ones, unless they are
            numbers: so the handles of those that own their streams cannot become others'.
    """
    queues = context.queues
    if stream in queues:
        return
    check_device(context, stream)
    if any(hasattr(queue, name) for name in ("__cuda_stream__", *_ATTRIBUTES)):
        queues[stream] = queue
        for oldest in list(queues)[:-_MOST_QUEUES]:
            queues.pop(oldest, None)


# No weak reference is made to a caller's stream: torch 2.11 frees its streams and leaves their weak
# references as they were, so that the process ends where Python compares one of them with that of
# a later stream.
_MOST_QUEUES = 32


def check_device(context: Home, stream: int) -> None:
    """Raise DeviceMismatchError for a stream of another context.

    Args:
        context: the one that it should belong to.
        stream: a CUstream that exists.
    """
    if stream in (LEGACY_STREAM, PER_THREAD_STREAM):
        return
    try:
        found = call(driver.cuStreamGetCtx, driver.CUstream(stream))
    except NativeError as error:
        raise DeviceMismatchError(f"{stream:#x} is not a stream of {context!r}: {error}") from error
    owner = int(found[0] if isinstance(found, tuple) else found)
    if owner != int(context.native):
        raise DeviceMismatchError(
            f"the stream {stream:#x} belongs to the CUcontext {owner:#x}, the memory to that of "
            f"{context!r}, {int(context.native):#x}"
        )
