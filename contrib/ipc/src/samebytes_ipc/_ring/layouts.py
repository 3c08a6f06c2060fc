# SPDX-License-Identifier: Apache-2.0
"""Layouts of frames: in the writer's own slots, and as readers are sent them, by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samebytes import (
    CpuContext,
    CpuTensor,
    Frame,
    FrameMeta,
    ImageFormat,
    ImageInfo,
    Tensor,
    TensorInfo,
)
from samebytes.errors import ClosedError, LayoutError, UnsupportedObjectError
from samebytes.plugins import Lock, array_in, deferred
from samebytes_dma import DMA, DMABuffer, DMAPlane, DMATensor, frame_with_meta

from .._wire.describing import describe_layout, read
from .._wire.memory import natives_of
from .._wire.message import MAX_AXES, MAX_DESCRIPTORS, MAX_EXTENT, named
from .._wire.values import Value, encoded
from .packets import MAX_LAYOUTS, pack_layout

if TYPE_CHECKING:
    from samebytes import Storage

__all__ = [
    "CPU",
    "Layout",
    "Layouts",
    "Places",
    "SlotLayout",
    "arrays_at",
    "copy_into",
    "places_of",
    "slot_layout_of",
]

# That of CPU memory in samebytes, so that devices can take each plane by itself.
_ALIGNMENT = 128
CPU = CpuContext.create(None, None)


Places = list[tuple[tuple[int, ...], Any, int, tuple[int, ...]]]


@dataclass(frozen=True)
class SlotLayout:
    """The places of planes in a buffer, for frames or tensors of one kind.

    Attributes:
        infos, offsets: those of each plane.
        nbytes: how many bytes the buffer has, at least.
        image: what the planes are together; None for tensors.
        is_tensor: True for a tensor, False for a frame.
    """

    infos: tuple[TensorInfo, ...]
    offsets: tuple[int, ...]
    nbytes: int
    image: ImageInfo | None = None
    is_tensor: bool = False

    def __post_init__(self) -> None:
        """Refuse what has no place in the packets of a ring.

        Raises:
            LayoutError: it has more planes or axes than a packet can, or a longer axis.
        """
        if len(self.infos) > MAX_DESCRIPTORS:
            raise LayoutError(f"{len(self.infos)} planes: a ring carries at most {MAX_DESCRIPTORS}")
        for info in self.infos:
            if len(info.shape) > MAX_AXES or max(info.shape, default=0) > MAX_EXTENT:
                raise LayoutError(
                    f"{info} has {len(info.shape)} axes, the longest of {max(info.shape)}: a ring "
                    f"carries at most {MAX_AXES} axes, of at most {MAX_EXTENT} each"
                )

    @classmethod
    def of_image(cls, image: ImageInfo) -> SlotLayout:
        """An image: planes one after another, without gaps."""
        layouts = image.packed_layouts()
        infos = tuple(TensorInfo(p.dtype, p.shape, p.strides) for p in layouts)
        return cls(infos, tuple(p.offset for p in layouts), image.nbytes, image)

    @classmethod
    def of_tensors(cls, infos: Sequence[TensorInfo], *, is_tensor: bool) -> SlotLayout:
        """Tensors, dense, each at a multiple of 128 bytes.

        Raises:
            LayoutError: one without elements, or with more axes than a packet has room for.
        """
        dense = tuple(TensorInfo(info.dtype, info.shape) for info in infos)
        offsets, end = [], 0
        for info in dense:
            if not info.nbytes:
                raise LayoutError(f"{info} has no elements: a ring carries tensors that have some")
            offsets.append(end)
            end += -(-info.nbytes // _ALIGNMENT) * _ALIGNMENT
        return cls(dense, tuple(offsets), end, None, is_tensor)

    @classmethod
    def like(cls, item: Tensor | Frame) -> SlotLayout:
        """The layout of a copy of an item.

        Raises:
            UnsupportedObjectError: a frame of sound.
            LayoutError: a tensor without elements.
        """
        if isinstance(item, Tensor):
            return cls.of_tensors([item.info], is_tensor=True)
        if isinstance(item.meta.info, ImageInfo):
            return cls.of_image(item.meta.info)
        if item.meta.info is not None:
            raise UnsupportedObjectError("a frame of sound cannot be sent: send its planes")
        return cls.of_tensors([plane.info for plane in item.planes], is_tensor=False)

    def planes_in(self, buffer: DMABuffer) -> tuple[DMAPlane, ...]:
        """The planes, which must lie inside of the buffer."""
        return tuple(
            buffer.plane(info, offset=offset)
            for info, offset in zip(self.infos, self.offsets, strict=True)
        )

    def are_of(self, item: Any) -> bool:
        """True if a frame or tensor of "dma" was made by `item_over` and not changed since."""
        if self.is_tensor is isinstance(item, Frame):
            return False
        natives = (item.native,) if self.is_tensor else item.native
        if len(natives) != len(self.infos) or not (self.is_tensor or item.meta.info is self.image):
            return False
        for native, info, offset in zip(natives, self.infos, self.offsets, strict=True):
            if native.info is not info or native.offset != offset:
                return False
        return True

    def item_over(self, planes: tuple[DMAPlane, ...], use: Storage) -> DMATensor | Frame[DMATensor]:
        """The frame or tensor over such planes, which hold the use of a slot."""
        if self.is_tensor:
            return DMATensor.borrowed(planes[0], DMA, keep=use)
        return Frame.borrowed(planes, DMA, FrameMeta(self.image), keep=use)

    def places_in(self, mapped: Storage) -> Places:
        """The place of the array of each plane, in the bytes of a slot."""
        return places_of(mapped, self.infos, self.offsets)

    def item_of(
        self, memory: object, arrays: list[np.ndarray[Any, Any]]
    ) -> CpuTensor | Frame[CpuTensor]:
        """The frame or tensor of the CPU over arrays in a slot, which hold `memory`."""
        if self.is_tensor:
            info = self.infos[0]
            carried = info if info.dtype.numpy is None else None
            return CpuTensor.borrowed(arrays[0], CPU, keep=memory, info=carried)
        return Frame.borrowed(tuple(arrays), CPU, FrameMeta(self.image), keep=memory)


def places_of(mapped: Storage, infos: Sequence[TensorInfo], offsets: Sequence[int]) -> Places:
    """Shape, dtype, offset and strides of arrays of such layouts in the bytes of a mapping."""
    found = []
    for info, offset in zip(infos, offsets, strict=True):
        array = array_in(mapped, info, offset)
        found.append((array.shape, array.dtype, offset, array.strides))
    return found


def arrays_at(memory: np.ndarray[Any, Any], places: Places) -> list[np.ndarray[Any, Any]]:
    """The arrays of `places_of` in the bytes of one use; they hold it."""
    return [np.ndarray(s, d, memory, offset, strides) for s, d, offset, strides in places]


def slot_layout_of(
    format_: str | ImageFormat | None,
    width: int | None,
    height: int | None,
    shape: Sequence[int] | None,
    dtype: Any,
) -> SlotLayout | None:
    """Return the layout that the options of a ring describe; None if they describe none.

    Raises:
        LayoutError: they are incomplete, contradictory or invalid.
    """
    if shape is not None:
        if (format_, width, height) != (None, None, None):
            raise LayoutError("a ring has images or tensors: pass format= or shape=, not both")
        return SlotLayout.of_tensors([TensorInfo(dtype, shape)], is_tensor=True)
    if format_ is None and width is None and height is None:
        return None
    if format_ is None or width is None or height is None:
        raise LayoutError("images have format=, width= and height=: pass all of them")
    return SlotLayout.of_image(ImageInfo(ImageFormat.of(format_), width, height))


def copy_into(target: Any, source: Tensor | Frame) -> int:
    """Copy all bytes of a frame or tensor into one of "dma"; return how many these are."""
    given = source.map("cpu", copy=True)
    with target.map("cpu", "w") as view:
        if isinstance(given, Frame):
            for to, plane in zip(view.planes, given.planes, strict=True):
                np.copyto(to.native, plane.native)
            return sum(plane.info.nbytes for plane in given.planes)
        np.copyto(view.native, given.native)
        return given.info.nbytes


class Layout:
    """The layout that frames share, which readers are sent once.

    Attributes:
        number: the one by which readers know it.
        version: how often the number was given to another layout.
        packet: what is sent.
    """

    __slots__ = ("number", "packet", "version")

    def __init__(self, number: int, version: int, packet: bytes) -> None:
        self.number = number
        self.version = version
        self.packet = packet


class Layouts:
    """The layouts of one ring.

    Attributes:
        usual: the layout of what acquire() gives, once it was sent.

    Args:
        slot_layout: the layout of what acquire() returns, which is looked up for each frame.
    """

    __slots__ = ("_known", "_lock", "_slot_layout", "usual")

    def __init__(self, slot_layout: SlotLayout | None) -> None:
        self._slot_layout = slot_layout
        self._lock = Lock()
        self._known: dict[Any, Layout] = {}
        self.usual: Layout | None = None

    def of_slots(self, buffer: DMABuffer | None, meta: FrameMeta | None) -> Layout:
        """Return the layout of what acquire() gives, in the memory of any slot.

        Args:
            buffer: the memory of one slot; None if the ring was closed.
            meta: that of a frame, whose format may have been changed; None for a tensor.

        Raises:
            MessageError, UnsupportedObjectError: it cannot be described to readers.
            ClosedError: the ring was closed.
        """
        slot_layout = self._slot_layout
        assert slot_layout is not None
        if buffer is None:  # another thread may be closing it just now
            raise ClosedError("this ring was closed")
        item = slot_layout.item_over(slot_layout.planes_in(buffer), buffer.storage)
        if meta is not None and isinstance(item, Frame):
            item.meta.info = meta.info
        return self.of(item)

    def of(self, item: Any) -> Layout:
        """Return the layout of a frame or tensor of "dma"; a new one gets a number.

        Raises:
            MessageError, UnsupportedObjectError: it cannot be described to readers.
        """
        slot_layout = self._slot_layout
        if slot_layout is None or not slot_layout.are_of(item):
            return self._any(item)
        if self.usual is None:
            self.usual = self._any(item)
        return self.usual

    def _any(self, item: Any) -> Layout:
        natives = natives_of(item)
        info = item.meta.info if isinstance(item, Frame) else None
        key = (
            isinstance(item, Frame),
            info,
            tuple((n.info, n.offset, n.pitch, n.modifier) for n in natives),
        )
        with self._lock:
            known = self._known.get(key)
        if known is not None:
            return known
        description = describe_layout(item)
        # What readers would refuse is refused here.
        read(Value(description), 1, lambda plane, readonly: None)
        if info is not None:
            with named("frame.planes"):
                frame_with_meta(natives, FrameMeta(info))
        body = encoded(description)
        with self._lock:
            if key not in self._known:
                with deferred():  # if only the old one went, the next would get a number in use
                    self._known[key] = self._numbered(body)
            return self._known[key]

    def _numbered(self, body: bytes) -> Layout:
        number, version = len(self._known), 0
        if number >= MAX_LAYOUTS:  # it gets the number of the oldest
            oldest, layout = next(iter(self._known.items()))
            number, version = layout.number, layout.version + 1
            del self._known[oldest]
        return Layout(number, version, pack_layout(number, body))
