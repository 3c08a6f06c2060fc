# SPDX-License-Identifier: Apache-2.0
"""Turn the packets that a reader receives into slots, layouts and frames, and check each value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from samebytes import Fd, Frame, FrameMeta
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
from .packets import FrameHeader
from .slots import SlotUse

__all__ = ["Received"]


class Received:
    """The slots and layouts that one writer has sent, by their numbers."""

    __slots__ = ("_latest", "_layouts", "_planes", "_ready", "_slots")

    def __init__(self) -> None:
        self._slots: dict[int, DMABuffer] = {}
        self._layouts: dict[int, Description] = {}
        # Of each slot and layout, when they first came together: then they are checked.
        self._planes: dict[tuple[int, int], tuple[DMAPlane, ...]] = {}
        # What a frame needs that will come in that slot and layout; see prepare().
        self._ready: dict[tuple[int, int], _Prepared] = {}
        self._latest: int | None = None

    def put_slot(self, number: int, fds: list[Fd]) -> None:
        """The memory of a slot. Frames that lie in the one before keep it.

        Raises:
            MessageError: not one descriptor, or one of memory that is not taken.
        """
        name = f"slot[{number}]"
        if len(fds) != 1:
            raise MessageError(name, f"comes with {len(fds)} descriptors, not with one")
        buffer = buffer_behind(fds[0], name, trusted=False, kept=KeptMapping(writable=False))
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
        self, header: FrameHeader, body: bytes, fds: list[Fd], begin: Callable[[SlotUse], object]
    ) -> DMATensor | Frame[DMATensor]:
        """A frame or tensor, read-only, over its slot.

        Args:
            header: where it lies and how.
            body: its metadata, or nothing.
            fds: of memory of results.
            begin: called with the frame's owner, to which it gives what the end of it calls; also
                if an error is raised afterwards.

        Raises:
            MessageError: it lies in no slot, has no layout, reaches outside of the slot, or has
                invalid metadata.
        """
        buffer = self._slots.get(header.slot)
        if buffer is None:
            raise MessageError("frame.slot", f"{header.slot} was not sent")
        # Once the use has its release, the slot goes back whatever happens.
        prepared = self._ready.pop((header.slot, header.layout), None)
        if prepared is not None:
            use, natives = prepared
            description = self._layouts[header.layout]
            begin(use)
        else:
            use = SlotUse(buffer, None, readonly=True)
            begin(use)
            found = self._layouts.get(header.layout)
            if found is None:
                raise MessageError("frame.layout", f"{header.layout} was not sent")
            description = found
            planes = self._planes.get((header.slot, header.layout))
            if planes is None:
                planes = _checked(description, buffer)
                self._planes[header.slot, header.layout] = planes
            natives = _used_by(use, buffer, planes)
        self._latest = header.layout
        metadata, regions = _meta(body, fds) if body or fds else ({}, [])
        if description.meta is None:
            return DMATensor.borrowed(natives[0], DMA, keep=use, readonly=True)
        meta = FrameMeta(description.meta.info, header.pts, header.time_base, metadata, regions)
        return Frame.borrowed(natives, DMA, meta, keep=use, readonly=True)

    def prepare(self) -> None:
        """Make now, while no frame is there, most of what the next ones need.

        That is one frame for each slot, in the layout that came last: which slot is the next one
        is for the writer to say.
        """
        for key in self._ready.copy():
            if key[1] != self._latest:
                self._ready.pop(key, None)
        for key, planes in self._planes.copy().items():
            if key[1] != self._latest or key in self._ready:
                continue
            buffer = self._slots[key[0]]
            use = SlotUse(buffer, None, readonly=True)
            prepared = use, _used_by(use, buffer, planes)
            if buffer.kept is not None and buffer.kept.is_made:  # it is read by the CPU here
                lasting_mapping(prepared[1][0].buffer, "r")
            # A signal handler may have read meanwhile, and have replaced the slot or the layout.
            # It comes after calls, hence none here.
            if key in self._planes and self._planes[key] is planes:
                self._ready[key] = prepared

    def _forget(self, concerns: Callable[[int, int], bool]) -> None:
        for key in self._planes.copy():
            if concerns(*key):
                try:
                    self._planes.pop(key, None)
                finally:  # last: nothing is prepared that is not among the planes
                    self._ready.pop(key, None)


_Prepared = tuple[SlotUse, tuple[DMAPlane, ...]]


def _used_by(use: SlotUse, buffer: DMABuffer, planes: tuple[DMAPlane, ...]) -> tuple[DMAPlane, ...]:
    """Planes of a slot as those of one use of it."""
    lent = buffer.lent(use, readonly=True)
    return tuple([plane.moved_to(lent) for plane in planes])


def _checked(description: Description, buffer: DMABuffer) -> tuple[DMAPlane, ...]:
    """The planes of a layout in a slot in which nothing of the kind was before."""
    planes = []
    for i, plane in enumerate(description.planes):
        with named("tensor" if description.meta is None else f"frame.planes[{i}]"):
            planes.append(plane_in(plane, [buffer]))
    if description.meta is not None:
        with named("frame.planes"):
            frame_with_meta(planes, FrameMeta(description.meta.info))
    return tuple(planes)


def _meta(body: bytes, fds: list[Fd]) -> tuple[dict[str, Any], list[Any]]:
    buffers = [buffer_behind(fd, f"descriptors[{i}]", trusted=False) for i, fd in enumerate(fds)]
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
