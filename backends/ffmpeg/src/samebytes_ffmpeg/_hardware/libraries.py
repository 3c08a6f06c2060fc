# SPDX-License-Identifier: Apache-2.0
"""The libavutil to use for a device: PyAV's own if it has the type, else the system's.

PyAV's wheels bring an FFmpeg without VA-API. The system's has it, and can be loaded beside it.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes.util import find_library
from functools import cache

from samebytes.errors import MissingDependencyError, UnknownNameError
from samebytes.plugins import OwnedPointer

from .._avframe_abi import AVFRAMES
from .._avutil import PYAV
from .._avutil_abi import AVBufferRef
from .._libavutil import Libavutil
from .._loans import put
from .._owned import buffer_data
from .hwcontext_abi import AV_PIX_FMT_NONE, DEVICE_CONTEXTS, FRAMES_CONTEXTS

__all__ = ["device_types", "library_at", "library_for", "system_library"]

_HINT = "apt install libavutil57 (Debian 12) or the libavutil of your system"


@cache
def library_at(path: str) -> Libavutil:
    """The libavutil at a path, or of a soname; one object for each library.

    Raises:
        MissingDependencyError: it cannot be used.
    """
    found = Libavutil(path, _HINT)
    for known in _known:
        if known.identity == found.identity:
            return known
    _known.append(found)
    return found


_known: list[Libavutil] = [PYAV]


@cache  # of what was found: an error is not remembered
def system_library() -> Libavutil:
    """The libavutil of the system.

    Raises:
        MissingDependencyError: there is none, or none that is known.
    """
    names = [f"libavutil.so.{major}" for major in sorted(AVFRAMES, reverse=True)]
    if sys.platform != "linux":
        names = [name for name in [find_library("avutil")] if name]
    for name in names:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return library_at(name)
    raise MissingDependencyError("ffmpeg", " or ".join(names) or "libavutil", _HINT)


def library_for(kind: str) -> Libavutil:
    """A libavutil that has devices of that type.

    Raises:
        MissingDependencyError: neither PyAV's nor the system's has.
        UnknownNameError: no libavutil has.
    """
    if kind in device_types(PYAV):
        return PYAV
    system = system_library()
    found = device_types(system)
    if kind not in found:
        raise UnknownNameError("device type of FFmpeg", kind, (*device_types(PYAV), *found))
    return system


@cache
def device_types(library: Libavutil) -> tuple[str, ...]:
    """The types of device that a libavutil was built with, after a look at its structures.

    Raises:
        MissingDependencyError: its contexts are not laid out as known.
    """
    names = []
    number = 0
    while number := library.hwdevice_iterate_types(number):
        names.append(library.hwdevice_get_type_name(number).decode())
    for kind in ("drm", "vaapi", "cuda"):
        if kind in names:
            _check(library, kind)
            break
    return tuple(names)


def _check(library: Libavutil, kind: str) -> None:
    """Compare our structures with what the library puts into fresh ones; no device is opened."""
    number = library.hwdevice_find_type_by_name(kind.encode())
    device_ref: OwnedPointer = library.owned.hwdevice_ctx_alloc(number)
    address = buffer_data(device_ref.address)
    frames_ref: OwnedPointer = library.owned.hwframe_ctx_alloc(device_ref)
    device = DEVICE_CONTEXTS[library.major].from_address(address)
    frames = FRAMES_CONTEXTS[library.major].from_address(buffer_data(frames_ref.address))
    known = frames.device_ref and AVBufferRef.from_address(frames.device_ref).data
    right = (device.type, frames.device_ctx, known) == (number, address, address) and (
        (frames.format, frames.sw_format, frames.width, frames.height)
        == (AV_PIX_FMT_NONE, AV_PIX_FMT_NONE, 0, 0)
    )
    if not (right and _keeps_frames_context(library, frames_ref)):
        raise MissingDependencyError(
            "ffmpeg", "a libavutil whose contexts have the layout of FFmpeg 5 to 9", library.hint
        )


def _keeps_frames_context(library: Libavutil, frames_ref: OwnedPointer) -> bool:
    """True if AVFrame.hw_frames_ctx is at the offset that we assume.

    libavutil/frame.c: a new reference to a frame has it too, and copied properties do not; of
    opaque_ref, its neighbour, both have a reference.
    """
    alloc = library.owned.frame_alloc
    ours, other = alloc(), alloc()
    frame = library.AVFrame.from_address(ours.address)
    frame.width, frame.height, frame.format = 36, 10, library.pixel_format("gray")
    library.frame_get_buffer(ours, 1)
    put(frames_ref, ours.address + library.AVFrame.hw_frames_ctx.offset, library)
    clone = library.owned.frame_clone(ours)
    library.frame_copy_props(other, ours)
    cloned = library.AVFrame.from_address(clone.address).hw_frames_ctx
    copied = library.AVFrame.from_address(other.address).hw_frames_ctx
    return (
        cloned is not None
        and cloned != frame.hw_frames_ctx
        and copied is None
        and AVBufferRef.from_address(cloned).buffer
        == AVBufferRef.from_address(frames_ref.address).buffer
    )
