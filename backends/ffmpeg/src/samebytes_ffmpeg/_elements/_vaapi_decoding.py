# SPDX-License-Identifier: Apache-2.0
"""Decoding by VA-API: frames that are surfaces, of the FFmpeg that has VA-API."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import av

from samebytes.errors import SamebytesError, UnsupportedObjectError

from .._hardware.device import VAAPIDevice
from .._hardware.vaapi_decoder import VAAPIDecoder
from ._decoders import Decoder, NoHardwareError

__all__ = ["VAAPIDecoding"]


class VAAPIDecoding:
    """Decoding by VA-API.

    Args:
        device: the number of the GPU among the render nodes; 0 for the default one.
        extra_hw_frames: how many frames may be out.
    """

    memory = "ffmpeg:VAAPI"
    by_device = False

    def __init__(self, device: int, *, extra_hw_frames: int) -> None:
        self._node = f"/dev/dri/renderD{128 + device}" if device else None
        self.limit = max(extra_hw_frames, 1)
        self._device: VAAPIDevice | None = None
        self._decoder: VAAPIDecoder | None = None

    @property
    def how(self) -> str:
        """As for Decoding."""
        where = self._node or "the default device"
        return f"decoded by VA-API on {where}, into surfaces of which {self.limit} may be out"

    def opening(self) -> AbstractContextManager[dict[str, Any]]:
        """As for Decoding. PyAV only reads."""
        try:
            if self._node is None:
                self._device = VAAPIDevice.create(None, None)
            else:
                found = VAAPIDevice.open("vaapi", self._node)
                assert isinstance(found, VAAPIDevice)
                self._device = found
        except SamebytesError as error:
            raise NoHardwareError(str(error)) from error
        return nullcontext({})

    def decoder(self, stream: Any, threads: int) -> Decoder:
        """As for Decoding. The GPU needs no threads."""
        del threads
        try:
            made = VAAPIDecoder(stream, self._device, extra_hw_frames=self.limit)
        except SamebytesError as error:
            raise NoHardwareError(str(error)) from error
        self._decoder = made
        return _Surfaces(made)

    def given(self, frame: av.VideoFrame) -> None:
        """As for Decoding. The decoder counts its frames itself."""

    def held(self) -> int:
        """As for Decoding. Frames of an earlier decoder have surfaces of their own."""
        return 0 if self._decoder is None else self._decoder.held


class _Surfaces:
    """A VAAPIDecoder, as sources use decoders."""

    def __init__(self, decoder: VAAPIDecoder) -> None:
        self._decoder = decoder

    def decode(self, packet: av.Packet[Any]) -> Sequence[Any]:
        """As for Decoder."""
        try:
            return self._decoder.decode(packet) if packet.size else self._decoder.flush()
        except UnsupportedObjectError as error:
            raise NoHardwareError(str(error)) from error

    def flush(self) -> None:
        """As for Decoder."""
        self._decoder.forget()

    def close(self) -> None:
        """As for Decoder."""
        self._decoder.close()
