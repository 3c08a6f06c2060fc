# SPDX-License-Identifier: Apache-2.0
"""Frames in a remote context of the GPU plugin."""

from __future__ import annotations

from typing import Any

from samebytes import Frame

from .._remote._leases import native_of
from ._tensors import GpuTensor

__all__ = ["GpuFrame"]


class GpuFrame(Frame[GpuTensor]):
    """A frame whose planes are remote tensors. `native` is a tuple of openvino.RemoteTensor."""

    __slots__ = ()

    @property
    def native(self) -> tuple[Any, ...]:
        """An openvino.RemoteTensor for each plane, which keeps its memory alive."""
        return tuple(map(native_of, _slot.__get__(self)))

    @native.setter
    def native(self, natives: Any) -> None:
        _slot.__set__(self, natives)

    def _make_planes(self) -> tuple[GpuTensor, ...]:
        return self._planes_over(_slot.__get__(self))


# Where a frame has the natives of its planes, or their leases.
_slot: Any = vars(Frame)["native"]
