# SPDX-License-Identifier: Apache-2.0
"""An open node of V4L2: its calls, and errors that name a remedy."""

from __future__ import annotations

import errno
import os
from ctypes import Structure, c_int
from pathlib import Path

from samebytes import Fd
from samebytes.errors import (
    BusyError,
    MissingDependencyError,
    NativeError,
    SamebytesError,
    UnsupportedObjectError,
)
from samebytes.plugins import advice_to_open

from . import _abi
from ._errors import CameraGoneError

__all__ = ["Device", "nodes", "why_no_camera"]

_NOT_THERE = (errno.ENODEV, errno.ENXIO)
_NO_SUCH_CALL = (errno.ENOTTY, errno.EINVAL)


def nodes() -> list[str]:
    """The paths of this machine's video nodes, by their numbers; not all of them are cameras."""
    found = [path for path in Path("/dev").glob("video*") if path.name[5:].isdecimal()]
    return [str(path) for path in sorted(found, key=lambda path: int(path.name[5:]))]


def why_no_camera(capabilities: int) -> str:
    """The reason why this package does not use a node with those capabilities; "" if it does.

    Args:
        capabilities: V4L2_CAP_*, those of the node itself.
    """
    if capabilities & (_abi.V4L2_CAP_VIDEO_M2M | _abi.V4L2_CAP_VIDEO_M2M_MPLANE):
        return (
            "it is a memory-to-memory device (M2M), such as a decoder or a scaler, which "
            "samebytes-v4l2 does not use: FFmpeg (h264_v4l2m2m) and GStreamer (v4l2h264dec) do"
        )
    if capabilities & _abi.V4L2_CAP_VIDEO_CAPTURE:
        if capabilities & _abi.V4L2_CAP_STREAMING:
            return ""
        return "its driver only copies (read()): OpenCV and FFmpeg can capture from it"
    if capabilities & _abi.V4L2_CAP_VIDEO_CAPTURE_MPLANE:
        return (
            "it has the multi-planar API alone, which samebytes-v4l2 does not use: GStreamer's "
            "v4l2src and libcamera do"
        )
    if capabilities & (_abi.V4L2_CAP_VIDEO_OUTPUT | _abi.V4L2_CAP_VIDEO_OUTPUT_MPLANE):
        return "it shows pictures and captures none"
    if capabilities & _abi.V4L2_CAP_META_CAPTURE:
        return "it gives a camera's metadata; the pictures come from another node of that camera"
    return "it captures no pictures"


class Device:
    """An open camera.

    Args:
        path: the path of its node.

    Attributes:
        path: the path of its node.
        fd: the open file, which a stream holds, too.
        name, driver, bus: the driver's information about it.

    Raises:
        MissingDependencyError: there is no such node, or no permission to open it.
        BusyError: another program has it, and the driver only allows one.
        CameraGoneError: the node is there, but the camera is not.
        UnsupportedObjectError: it is not a camera, or of a kind that is not used here.
    """

    def __init__(self, path: str) -> None:
        self._process = os.getpid()
        self.path = path
        self.fd = self._opened()
        found = _abi.v4l2_capability()
        if not self.has("VIDIOC_QUERYCAP", found):
            raise UnsupportedObjectError(f"{path} is not a video node of V4L2")
        whole = found.capabilities
        own = found.device_caps if whole & _abi.V4L2_CAP_DEVICE_CAPS else whole
        if reason := why_no_camera(own):
            others = [node for node in nodes() if node != path]
            also = f"; other nodes: {', '.join(others)}" if others else ""
            raise UnsupportedObjectError(f"{path} is not a camera to capture from: {reason}{also}")
        self.name = text(found.card)
        self.driver = text(found.driver)
        self.bus = text(found.bus_info)

    @property
    def is_of_this_process(self) -> bool:
        """False in a child that was forked since: the open file is the parent's, and its stream."""
        return self._process == os.getpid()

    def call(self, request: str, argument: Structure | c_int) -> None:
        """Make a call that has to succeed.

        Args:
            request: its name, such as "VIDIOC_S_FMT".
            argument: the argument, which the driver may fill in.

        Raises:
            BusyError: something else uses the camera.
            CameraGoneError: it is not there any more.
            NativeError: the driver refuses.
        """
        try:
            _abi.ioctl(self.fd.fileno(), getattr(_abi, request), argument)
        except OSError as error:
            raise self.error(request, error) from error

    def has(self, request: str, argument: Structure | c_int) -> bool:
        """Make a call that a driver need not know, or that ends a list.

        Args:
            request, argument: as for `call`.

        Returns:
            False if the driver does not know the call, or has nothing of that index or kind.

        Raises:
            BusyError, CameraGoneError, NativeError: as from `call`.
        """
        try:
            _abi.ioctl(self.fd.fileno(), getattr(_abi, request), argument)
        except OSError as error:
            if error.errno in _NO_SUCH_CALL:
                return False
            raise self.error(request, error) from error
        return True

    def error(self, request: str, error: OSError) -> SamebytesError:
        """The error for the answer of a call."""
        code = error.errno or 0
        if code in _NOT_THERE:
            return CameraGoneError(
                f"the camera at {self.path} is gone ({request}): it was unplugged, or its driver "
                "has given it up; connect it, and open it again"
            )
        if code == errno.EBUSY:
            return BusyError(
                f"{self.path} is in use ({request}): another program, or another Camera of this "
                f"one, has its buffers; `fuser -v {self.path}` says which program; after a stop() "
                "that failed, close() the Camera and open another one"
            )
        return NativeError(request, code, f"{error.strerror or ''}, by the driver of {self.path}")

    def _opened(self) -> Fd:
        try:
            return Fd(os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
        except FileNotFoundError as error:
            there = ", ".join(nodes())
            hint = f"pass one of {there}" if there else "connect a camera; this machine has no node"
            raise MissingDependencyError("v4l2", self.path, hint) from error
        except PermissionError as error:
            raise MissingDependencyError(
                "v4l2", f"permission to open {self.path}", advice_to_open(self.path)
            ) from error
        except OSError as error:
            raise self.error("open", error) from error


def text(characters: bytes) -> str:
    """A text of a structure, which ends with a zero byte."""
    return bytes(characters).partition(b"\0")[0].decode(errors="replace")
