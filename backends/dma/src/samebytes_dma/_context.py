# SPDX-License-Identifier: Apache-2.0
"""The context of memory behind file descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samebytes import Context, Device, Fd, Frame, FrameMeta, ImageFormat, ImageInfo, TensorInfo

from ._allocators import Allocator, find_allocator
from ._buffer import DMABuffer
from ._extensions import register_extensions
from ._tensor import DMATensor

if TYPE_CHECKING:
    from typing import Self, Unpack

    from samebytes.plugins import FrameSays

__all__ = ["DMA", "DMAContext"]


class DMAContext(Context[DMATensor]):
    """DMA-BUFs. `samebytes.context("dma")`, or "dma:NAME" to choose where new memory comes from.

    Names are "heap" (or "system", the system heap), "heap.NAME" (another heap), "udmabuf", and
    "memfd", which is not a DMA-BUF but a stand-in. Without a name the first of "heap", "udmabuf",
    "memfd" is taken that this machine has; `tensor.kind` says which one it was.

    A DMA-BUF belongs to no device and no allocator: all these contexts are equal, and mapping to
    any of them is an identity.
    """

    memory_type = "dma"
    node = "dma"
    tensor_class = DMATensor
    primary_handle = "dma_fd"
    singleton = True
    may_be_opaque = True

    def __init__(self, allocator: Allocator) -> None:
        super().__init__(Device("CPU", allocator.name))
        self._allocator = allocator

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The context for an allocator.

        Raises:
            UnknownNameError: no allocator of that name.
            MissingDependencyError: this machine does not have it, or may not open it.
        """
        if device is None:
            return DMA  # type: ignore[return-value]  # the singleton is of this very class
        return cls(find_allocator(device))

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> DMATensor:
        """New zeroed memory in its own buffer, of whole pages.

        Raises:
            LayoutError: a negative extent.
            NativeError: the system has no memory for it.
            UnknownNameError: no such dtype.
        """
        info = TensorInfo(dtype, shape)
        buffer = self.import_fd(self.allocate_fd(info.nbytes))
        owner = buffer.storage
        return DMATensor.owned(buffer.plane(info), self, owner)

    def allocate_frame(
        self, format_: str | ImageFormat, width: int, height: int, **says: Unpack[FrameSays]
    ) -> Frame[DMATensor]:
        """A new image in one buffer: planes one after another, without gaps.

        Args:
            says: `pts`, `time_base`, `duration` and `metadata`, as of `samebytes.frame`.

        Raises:
            LayoutError: a size that the format cannot have.
            NativeError: the system has no memory for it.
            UnknownNameError: no such format.
        """
        image = ImageInfo(ImageFormat.of(format_), width, height)
        buffer = self.import_fd(self.allocate_fd(image.nbytes))
        planes = tuple(
            buffer.plane(TensorInfo(p.dtype, p.shape, p.strides), offset=p.offset)
            for p in image.packed_layouts()
        )
        owner = buffer.storage
        return Frame.owned(planes, self, FrameMeta(image), owner)

    def allocate_fd(self, nbytes: int) -> Fd:
        """A descriptor of new zeroed memory, for those who lay it out themselves.

        Args:
            nbytes: how much is needed; it has whole pages, and at least one.

        Raises:
            LayoutError: more bytes than there are addresses.
            NativeError: the system has no memory for it.
        """
        return self._allocator.allocate(nbytes)

    def import_fd(self, fd: Fd, *, keep: object = None, mappable: bool = True) -> DMABuffer:
        """A buffer around a descriptor, for mappers of other plugins whose target is "dma".

            buffer = self.target.import_fd(Fd(exported))
            return buffer.plane(item.info, offset=0), None, buffer.storage

        Args:
            fd: its owner, which becomes the buffer's. Dup a descriptor that stays a driver's.
            keep: what else must live as long; what `connect` mapped is kept by the core.
            mappable: False where the driver says that the CPU cannot map the memory.

        Raises:
            LayoutError: nothing that can be mapped is behind the descriptor.
            AccessError: it was opened for writing alone.
        """
        return DMABuffer(fd, keep=keep, mappable=mappable)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DMAContext)

    def __hash__(self) -> int:
        return hash(self.node)

    def __repr__(self) -> str:
        name = self._allocator.name
        return f"<DMAContext {self.node}{':' if name else ''}{name}>"


DMA = DMAContext(find_allocator(None))
"""The context of `samebytes.context("dma")`, to which all others are equal."""

register_extensions()
