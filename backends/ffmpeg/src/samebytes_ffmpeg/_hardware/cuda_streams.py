# SPDX-License-Identifier: Apache-2.0
"""CUDA streams for decoders, so that several decode side by side.

FFmpeg's devices use the legacy default stream, all of them the same one. There each decoder would
wait for what is done with the pictures of the others.

The streams are blocking ones (CU_STREAM_DEFAULT): CUDA itself orders what they do before later work
on the legacy default stream, and that before their later work. So whoever uses FFmpeg's frames
there sees no difference.
"""

from __future__ import annotations

import itertools
from ctypes import c_void_p, sizeof
from typing import Any

from samebytes.errors import LayoutError, MissingDependencyError
from samebytes.plugins import Lock

from .._avutil import PYAV
from .._avutil_abi import AVBufferRef
from .._codec_options import option_offset
from .._pyav import codec_context_address
from . import libcuda
from .described import snapshot
from .hwcontext_abi import DEVICE_CONTEXTS, AVCUDADeviceContext

__all__ = ["have_own_stream"]

_MOST = 16
"""Streams of a CUDA context, which then go round: FFmpeg's frames may outlive their decoder, and
work on its stream, so that none of these is ever destroyed."""

_made: dict[int, list[int]] = {}
_lock = Lock()
_turn = itertools.count()


def have_own_stream(codec: Any, context: int) -> bool:
    """Let a decoder's device use a stream of its own, before the decoder is opened.

    Args:
        codec: PyAV's codec context, made for CUDA.
        context: the CUcontext that its device uses.

    Returns:
        False: the device is not where it is in the versions of FFmpeg that are known. It goes on
        using the legacy default stream.

    Raises:
        NativeError: the driver fails.
    """
    device = _device(codec)
    if device is None or device.cuda_ctx != context or device.stream:
        return False
    device.stream = _next(context)
    return True


def _device(codec: Any) -> Any:
    """The AVCUDADeviceContext of a codec context; None where there is another thing."""
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
