# SPDX-License-Identifier: Apache-2.0
"""Turn the packets that a reader receives into slots, layouts and frames, and check each value."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from samebytes import CpuTensor, Fd, Frame, FrameMeta, Storage
from samebytes.errors import LayoutError
from samebytes_dma import (
    DMA,
    DMABuffer,
    DMAPlane,
    DMATensor,
    KeptMapping,
    frame_with_meta,
    lasting_mapping,
)

from .._errors import MessageError
from .._wire.describing import read, read_meta
from .._wire.memory import buffer_behind, plane_in, tensor_over
from .._wire.message import Description, named
from .._wire.values import parse
from .layouts import CPU, Places, arrays_at, places_of
from .slots import SlotUse, User
from .uses import Use

__all__ = ["Received"]


class Received:
    """The slots and layouts that one writer has sent, by their numbers.

    Args:
        mapped: whether frames are to be of the CPU's memory.
    """

    __slots__ = ("_latest", "_layouts", "_mapped", "_places", "_planes", "_ready", "_slots",
                 "_taken")  # fmt: skip

    def __init__(self, mapped: bool) -> None:
        self._mapped = mapped
        self._slots: dict[int, DMABuffer] = {}
        self._layouts: dict[int, Description] = {}
        # The planes of each slot and layout, which are checked when the two first come together.
        self._planes: dict[_Key, tuple[DMAPlane, ...]] = {}
        # Where no access must begin or end: the bytes of the slot, and the arrays' places in them.
        self._places: dict[_Key, tuple[memoryview, Places]] = {}
        # Frames that are made in advance, by slot and layout, and what came since prepare(). All
        # are in the layout that came last.
        self._ready: dict[_Key, _Prepared] = {}
        self._taken: dict[_Key, None] = {}
        self._latest: int | None = None

    def put_slot(self, number: int, fds: list[Fd]) -> None:
        """Take the memory of a slot. Frames that lie in its earlier memory keep that.

        Raises:
            MessageError: not one descriptor, or one of memory that is not taken.
            OSError: no descriptor is left; it can be tried again.
        """
        name = f"slot[{number}]"
        if len(fds) != 1:
            raise MessageError(name, f"comes with {len(fds)} descriptors, not with one")
        kept = KeptMapping(writable=False)
        buffer = buffer_behind(fds[0].dup(), name, trusted=False, kept=kept)
        self._forget(lambda slot, _: slot == number)
        self._slots[number] = buffer

    def put_layout(self, number: int, body: bytes) -> None:
        """Store the description of a layout, in place of an earlier one with the same number.

        Raises:
            MessageError: it does not describe an item in one buffer.
        """
        with named(f"layout[{number}]"):
            description = read(parse(body), 1, lambda plane, readonly: None)
        self._forget(lambda _, layout: layout == number)
        self._layouts[number] = description

    def frame(
        self, slot: int, layout: int, pts: int | None, base: Fraction | None, body: bytes,
        fds: list[Fd],
    ) -> tuple[Any, Use]:  # fmt: skip
        """A read-only frame or tensor over its slot, and the use of it, which has not begun.

        Args:
            slot, layout: where it lies and how.
            pts, base: of a frame.
            body: its metadata, or nothing.
            fds: of memory of results.

        Raises:
            MessageError: it lies in no slot, has no layout, reaches outside of the slot, or has
                invalid metadata.
        """
        key = slot, layout
        if layout != self._latest:
            self._latest = layout
            self._ready.clear()
        use, item = self._ready.pop(key) if key in self._ready else self._made(key)
        self._taken[key] = None
        said = _meta(body, fds) if body or fds else None
        if self._layouts[layout].meta is not None:
            meta = item.meta
            meta.pts, meta.time_base = pts, base
            if said is not None:
                meta.metadata, meta.regions = said
        return (item.map("cpu") if self._mapped and key not in self._places else item), use

    def _made(self, key: _Key) -> _Prepared:
        """Make a frame or tensor in that slot and layout.

        Raises:
            MessageError: one of them was not sent, or they do not fit.
        """
        slot, layout = key
        buffer, description = self._slots.get(slot), self._layouts.get(layout)
        if buffer is None:
            raise MessageError("frame.slot", f"{slot} was not sent")
        if description is None:
            raise MessageError("frame.layout", f"{layout} was not sent")
        planes = self._planes.get(key)
        if planes is None:
            planes = _checked(description, buffer)
            infos = [plane.info for plane in planes]
            if (
                self._mapped
                and not buffer.is_dma_buf
                and buffer.kept is not None
                and all(info.dtype.numpy is not None for info in infos)
            ):
                mapped = buffer.kept.of(buffer)
                seen = Storage(
                    address=mapped.address, nbytes=mapped.nbytes, holds=mapped, readonly=True
                )
                places = places_of(seen, infos, [p.offset for p in planes])
                self._places[key] = np.asarray(seen).data, places
            self._planes[key] = planes
        placed = self._places.get(key)
        if placed is not None:
            memory = np.frombuffer(placed[0], np.uint8)  # of this use: all its arrays hold it
            arrays = tuple(arrays_at(memory, placed[1]))
            return Use.of(memory), _item_over(arrays, CPU, CpuTensor, memory, description)
        # The end of the frame's storage drops the user.
        users = [User()]
        storage = SlotUse(buffer, users.clear, readonly=True)
        natives = _used_by(storage, buffer, planes)
        return Use.of(users[0]), _item_over(natives, DMA, DMATensor, storage, description)

    def prepare(self) -> None:
        """Make the next frames in advance, while none is there, as far as their packets allow.

        That is one for each slot whose frame was taken since, as the writer chooses the next slot.
        """
        while self._taken:
            key, _ = self._taken.popitem()
            if key[1] != self._latest or key in self._ready or key not in self._planes:
                continue
            use, item = self._made(key)
            first = item.planes[0] if isinstance(item, Frame) else item
            kept = self._slots[key[0]].kept
            if kept is not None and kept.is_made and key not in self._places:
                lasting_mapping(first.native.buffer, "r")  # it is read by the CPU here
            self._ready[key] = use, item

    def _forget(self, concerns: Callable[[int, int], bool]) -> None:
        for key in list(self._planes):
            if concerns(*key):
                self._ready.pop(key, None)
                self._places.pop(key, None)
                self._planes.pop(key, None)  # last: an exception leaves nothing without it


_Key = tuple[int, int]
_Prepared = tuple[Use, Any]


def _item_over(
    natives: tuple[Any, ...], context: Any, kind: Any, keep: object, description: Description
) -> Any:
    """A frame or tensor, read-only, without what a packet says."""
    if description.meta is None:
        return kind.borrowed(natives[0], context, keep=keep, readonly=True)
    meta = FrameMeta(description.meta.info)
    return Frame.borrowed(natives, context, meta, keep=keep, readonly=True)


def _used_by(use: SlotUse, buffer: DMABuffer, planes: tuple[DMAPlane, ...]) -> tuple[DMAPlane, ...]:
    """The planes of a slot for one use of it."""
    lent = buffer.lent(use, readonly=True)
    return tuple([plane.moved_to(lent) for plane in planes])


def _checked(description: Description, buffer: DMABuffer) -> tuple[DMAPlane, ...]:
    """The planes of a layout in a slot, which were not checked before."""
    planes = []
    for i, plane in enumerate(description.planes):
        with named("tensor" if description.meta is None else f"frame.planes[{i}]"):
            planes.append(plane_in(plane, [buffer]))
    if description.meta is not None:
        with named("frame.planes"):
            frame_with_meta(planes, FrameMeta(description.meta.info))
    return tuple(planes)


def _meta(body: bytes, fds: list[Fd]) -> tuple[dict[str, Any], list[Any]]:
    buffers = [
        buffer_behind(fd.dup(), f"descriptors[{i}]", trusted=False) for i, fd in enumerate(fds)
    ]
    if not body:
        raise MessageError("descriptors", "come with a frame that has no metadata")
    try:
        return read_meta(
            parse(body),
            len(buffers),
            lambda p, readonly: tensor_over(plane_in(p, buffers), readonly),
        )
    except LayoutError as error:
        raise MessageError("frame.entries", str(error)) from error
