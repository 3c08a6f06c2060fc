# SPDX-License-Identifier: Apache-2.0
"""DMATensor: a tensor in memory with a file descriptor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes import Tensor, TensorInfo
from samebytes.errors import UnknownNameError

from ._buffer import DMAPlane
from ._modifiers import is_tiled, modifier_name

if TYPE_CHECKING:
    from typing import Self

    from ._descriptor import Kind

__all__ = ["DMATensor"]

_HANDLES = ("dma_fd", "drm_modifier", "offset", "pitch")


class DMATensor(Tensor):
    """An array in a DMA-BUF, or in a memfd or file that stands in for one.

    `native` is a DMAPlane. The CPU cannot read it where it lies: `map("cpu")` maps it.

    handle(): "dma_fd", "offset" (bytes), "drm_modifier", and "pitch" where there are rows.
    """

    __slots__ = ()

    native: DMAPlane

    readonly_advice = (
        'its descriptor was opened for reading alone or sealed, or it was mapped with access "r": '
        "open it with O_RDWR, or map the original"
    )

    @classmethod
    def wrap(cls, native: DMAPlane) -> Self:
        """A tensor over a plane, which stays the user's."""
        from ._context import DMA

        buffer = native.buffer
        return cls.borrowed(native, DMA, keep=buffer.storage, readonly=buffer.readonly)

    @property
    def kind(self) -> Kind:
        """The kind of memory; devices cannot import "memfd" and "file", which are not DMA-BUFs."""
        return self.native.buffer.kind

    def _describe(self) -> TensorInfo:
        return self.native.info

    def _handle(self, key: str) -> int:
        plane = self.native
        if key == "dma_fd":
            return plane.buffer.fileno()
        if key == "offset":
            return plane.offset
        if key == "drm_modifier":
            return plane.modifier
        if key == "pitch" and plane.pitch is not None:
            return plane.pitch
        if key == "data":
            return super()._handle(key)  # says how to get there
        raise UnknownNameError("handle of dma", key, _HANDLES)

    def __repr__(self) -> str:
        plane = self.native
        what: str = self.kind
        if not plane.buffer.is_dma_buf:
            what += ", a stand-in: no DMA-BUF"
        if is_tiled(plane.modifier):
            what += f", tiled ({modifier_name(plane.modifier)})"
        return f"{super().__repr__()[:-1]} ({what})>"
