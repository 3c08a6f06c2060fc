# SPDX-License-Identifier: Apache-2.0
"""CUDA streams for decoders, so that several decode side by side.

FFmpeg's devices all use the legacy default stream. There each decoder would wait for what is done
with the pictures of the others.

The streams here are blocking ones (CU_STREAM_DEFAULT): CUDA itself orders what they do before later
work on the legacy default stream, and that before their later work. So code that uses FFmpeg's
frames there sees no difference.

A caller that names the stream on which it uses the frames gets them made there. Then nothing has to
be ordered, which takes four calls of the driver for each frame, and the driver serves one thread at
a time.
"""

from __future__ import annotations

import itertools
from ctypes import c_void_p, sizeof
from typing import Any

from samebytes.errors import (
    DeviceMismatchError,
    LayoutError,
    MissingDependencyError,
    NativeError,
    UnsupportedObjectError,
)
from samebytes.plugins import Lock

from .._avutil import PYAV
from .._avutil_abi import AVBufferRef
from .._codec_options import option_offset
from .._pyav import codec_context_address
from . import libcuda
from .described import snapshot
from .hwcontext_abi import DEVICE_CONTEXTS, AVCUDADeviceContext

__all__ = ["have_stream", "stream_of", "streams_ordered_by"]

_MOST = 16
"""The number of streams of a CUDA context, which are then shared: FFmpeg's frames may outlive their
decoder, and work on its stream, so none of these is ever destroyed."""

_FIRST_HANDLE = 3
"""The numbers below it stand for the default streams: of the context, legacy, of each thread."""
_PAGE = 4096
"""Handles are pointers, and no system has memory at the first ones. CUDA's drivers read there."""
_LARGEST_HANDLE = 2**64 - 1

_made: dict[int, list[int]] = {}
# What callers passed, by handle: held until the process ends, for the same reason.
_held: dict[int, Any] = {}
_lock = Lock()
_turn = itertools.count()


def stream_of(queue: Any, context: int) -> int:
    """The CUstream of a caller's object, which is held until the process ends.

    Args:
        queue: a stream of torch, CuPy, Numba or cuda.core; or a handle as an int, a
            `ctypes.c_void_p` or a CUstream of cuda-bindings.
        context: the CUcontext that it must belong to.

    Returns:
        The handle; 0 for a default stream.

    Raises:
        DeviceMismatchError: it belongs to another context.
        UnsupportedObjectError: it is not a stream.
    """
    handle = _number_of(queue)
    if 0 <= handle < _FIRST_HANDLE:
        return 0
    if not _PAGE <= handle <= _LARGEST_HANDLE:
        raise UnsupportedObjectError(
            f"{handle} is not the handle of a CUDA stream: pass the stream itself"
        )
    try:
        owner = libcuda.context_of(context, handle)
    except NativeError as error:
        raise DeviceMismatchError(f"{handle:#x} is not a stream of the GPU: {error}") from error
    if owner != context:
        raise DeviceMismatchError(
            f"the stream {handle:#x} belongs to the CUcontext {owner:#x}, and the decoder's is "
            f"{context:#x}"
        )
    _held[handle] = queue
    return handle


def _number_of(queue: Any) -> int:
    found: Any = queue
    protocol = getattr(queue, "__cuda_stream__", None)
    if protocol is not None:  # of cuda.core it was a property once
        found = (protocol() if callable(protocol) else protocol)[1]
    else:
        names = ("cuda_stream", "ptr", "handle")
        found = next((getattr(queue, name) for name in names if hasattr(queue, name)), queue)
    if isinstance(found, c_void_p):  # of Numba
        return found.value or 0
    try:
        if not isinstance(found, bool | float | str | bytes):  # which int() would take, too
            return int(found)
    except (TypeError, ValueError):
        pass
    raise UnsupportedObjectError(
        f"a {type(queue).__name__} is not a CUDA stream: pass its handle as an int"
    )


def have_stream(codec: Any, context: int, stream: int | None = None) -> bool:
    """Let a decoder's device use a stream of its own, before the decoder is opened.

    Args:
        codec: PyAV's codec context, made for CUDA.
        context: the CUcontext that its device uses.
        stream: another one, from `stream_of`, that it is to use; 0 for the legacy default stream.

    Returns:
        False: the device is not where the known versions of FFmpeg have it. It goes on using the
        legacy default stream.

    Raises:
        NativeError: the driver fails.
    """
    device = _device(codec)
    if device is None or device.cuda_ctx != context or device.stream:
        return False
    device.stream = _next(context) if stream is None else stream or None
    return True


def streams_ordered_by(stream: int) -> frozenset[int | None]:
    """The streams whose work CUDA orders with that of a device's stream, in both directions.

    Only streams that last until the process ends are among them.

    Args:
        stream: the CUstream of a device of FFmpeg's; 0 for the legacy default stream.

    Returns:
        Handles, and None and 1 for the legacy default stream, as DLPack has it.
    """
    if not stream or any(stream in made for made in list(_made.values())):
        return frozenset((stream or 1, 1, None))
    return frozenset((stream,) if stream in _held else ())


def _device(codec: Any) -> Any:
    """The AVCUDADeviceContext of a codec context; None if something else is in its place."""
    address = codec_context_address(codec)
    try:
        # libavcodec/avcodec.h: hw_device_ctx stands before the field of the option hwaccel_flags.
        place = address + option_offset(address, b"hwaccel_flags") - sizeof(c_void_p)
        reference: Any = snapshot(
            AVBufferRef, c_void_p.from_address(place).value or 0, "an AVBufferRef"
        )
        found: Any = snapshot(
            DEVICE_CONTEXTS[PYAV.major], reference.data or 0, "an AVHWDeviceContext"
        )
        snapshot(AVCUDADeviceContext, found.hwctx or 0, "an AVCUDADeviceContext")
    except (LayoutError, MissingDependencyError):
        return None
    if found.type != PYAV.hwdevice_find_type_by_name(b"cuda"):
        return None
    return AVCUDADeviceContext.from_address(found.hwctx)


def _next(context: int) -> int:
    with _lock:
        made = _made.setdefault(context, [])
        if len(made) < _MOST:
            made.append(libcuda.new_stream(context))
            return made[-1]
    return made[next(_turn) % _MOST]
