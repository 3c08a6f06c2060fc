# SPDX-License-Identifier: Apache-2.0
"""Processor: the video processing of a display, which makes surfaces of surfaces."""

from __future__ import annotations

from ctypes import Structure, byref, c_uint32, sizeof
from functools import partial
from typing import Any

from samebytes import Storage
from samebytes.plugins import Lock

from ._abi import constants as va
from ._display import NativeDisplay

__all__ = ["Processor"]


class Processor:
    """A config and a context of VAEntrypointVideoProc.

    It does not hold the display, whose context holds it.

    Args:
        display: the display to make them in; they are destroyed with this object, or when the
            display ends.

    Raises:
        VAError: the driver has no video processing.
    """

    __slots__ = ("__weakref__", "_config", "_context", "_lock", "_owner")

    def __init__(self, display: NativeDisplay) -> None:
        # From vaBeginPicture to vaEndPicture a context is one thread's.
        self._lock = Lock()
        self._owner: Storage | None = None
        self._config = self._made(
            display, "Config", va.VAProfileNone, va.VAEntrypointVideoProc, None, 0
        )
        # Drivers take the sizes of pictures from their surfaces.
        self._context = self._made(display, "Context", self._config.value, 0, 0, 0, None, 0)

    def run(self, display: NativeDisplay, target: int, parameters: Structure) -> None:
        """Have the driver process a picture. It may go on after this returns.

        Args:
            display: the display that the processor was made in.
            target: the surface to fill.
            parameters: a VAProcPipelineParameterBuffer.

        Raises:
            VAError: the driver cannot do that.
        """
        buffer = c_uint32(va.VA_INVALID_ID)
        with self._lock:
            context = self._context.value
            display.call(
                "vaCreateBuffer", context, va.VAProcPipelineParameterBufferType,
                sizeof(parameters), 1, byref(parameters), byref(buffer),
            )  # fmt: skip
            try:
                display.call("vaBeginPicture", context, target)
                try:
                    display.call("vaRenderPicture", context, byref(buffer), 1)
                finally:
                    display.call("vaEndPicture", context)
            finally:
                display.call("vaDestroyBuffer", buffer.value)

    def _made(self, display: NativeDisplay, what: str, *arguments: Any) -> c_uint32:
        cell = c_uint32(va.VA_INVALID_ID)
        resources = display.resources
        # A context is destroyed before its config. At exit, a display of somebody else's that is
        # kept here is still there, and may end afterwards.
        self._owner = Storage(
            partial(resources.destroy_other, cell),
            keep=self._owner,
            at_exit=display.keep is not None,
        )
        resources.add_other(cell, f"vaDestroy{what}")
        display.call(f"vaCreate{what}", *arguments, byref(cell))
        return cell
