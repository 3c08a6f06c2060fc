# SPDX-License-Identifier: Apache-2.0
"""The context of memory behind file descriptors, and its tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samebytes import (
    Context,
    Device,
    Fd,
    Frame,
    FrameMeta,
    ImageFormat,
    ImageInfo,
    Tensor,
    TensorInfo,
)

from ._allocators import Allocator, find_allocator
from ._buffer import DMABuffer, DMAPlane
from ._extensions import register_extensions
from ._modifiers import is_tiled, modifier_name

if TYPE_CHECKING:
    from typing import Self, Unpack

    from samebytes.plugins import FrameSays

    from ._descriptor import Kind

__all__ = ["DMA", "DMAContext", "DMATensor"]


class DMATensor(Tensor):
    """An array in a DMA-BUF, or in a memfd or file that stands in for one.

    `native` is a DMAPlane. The CPU cannot read it in place: `map("cpu")` maps it.

    handle(): "dma_fd", "offset" (bytes), "drm_modifier", and "pitch" if there are rows.
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
        buffer = native.buffer
        return cls.borrowed(native, DMA, keep=buffer.storage, readonly=buffer.readonly)

    @property
    def kind(self) -> Kind:
        """The kind of memory; devices cannot import "memfd" and "file", which are not DMA-BUFs."""
        return self.native.buffer.kind

    def _describe(self) -> TensorInfo:
        return self.native.info

    def _handle(self, key: str) -> int | None:
        plane = self.native
        if key == "dma_fd":
            return plane.buffer.fileno()
        if key == "offset":
            return plane.offset
        if key == "drm_modifier":
            return plane.modifier
        if key == "pitch":
            return plane.pitch
        return super()._handle(key)

    def __repr__(self) -> str:
        plane = self.native
        what: str = self.kind
        if not plane.buffer.is_dma_buf:
            what += ", a stand-in: no DMA-BUF"
        if is_tiled(plane.modifier):
            what += f", tiled ({modifier_name(plane.modifier)})"
        return f"{super().__repr__()[:-1]} ({what})>"


class DMAContext(Context[DMATensor]):
    """DMA-BUFs. `samebytes.context("dma")`, or "dma:NAME" to choose the source of new memory.

    Names are "heap" (or "system", the system heap), "heap.NAME" (another heap), "udmabuf", and
    "memfd", which is not a DMA-BUF but a stand-in. Without a name, the first of "heap", "udmabuf"
    and "memfd" that this machine has is used; `tensor.kind` shows which.

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
        self, format: str | ImageFormat, width: int, height: int, **says: Unpack[FrameSays]
    ) -> Frame[DMATensor]:
        """A new image in one buffer: planes one after another, without gaps.

        Args:
            says: `pts`, `time_base`, `duration` and `metadata`, as for `samebytes.frame`.

        Raises:
            LayoutError: a size that the format cannot have.
            NativeError: the system has no memory for it.
            UnknownNameError: no such format.
        """
        image = ImageInfo(ImageFormat.of(format), width, height)
        buffer = self.import_fd(self.allocate_fd(image.nbytes))
        planes = tuple(
            buffer.plane(TensorInfo(p.dtype, p.shape, p.strides), offset=p.offset)
            for p in image.packed_layouts()
        )
        owner = buffer.storage
        return Frame.owned(planes, self, FrameMeta(image), owner)

    def allocate_fd(self, nbytes: int) -> Fd:
        """A descriptor of new zeroed memory, for callers that lay it out themselves.

        Args:
            nbytes: the bytes needed; the memory has whole pages, and at least one.

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
            fd: the owner of the descriptor, which becomes the buffer's. Dup a descriptor that stays
                the driver's.
            keep: another object that must live as long; the core keeps the item that `connect`
                mapped.
            mappable: False if the driver says that the CPU cannot map the memory.

        Raises:
            LayoutError: the descriptor has nothing behind it that can be mapped.
            AccessError: it was opened for writing only.
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
