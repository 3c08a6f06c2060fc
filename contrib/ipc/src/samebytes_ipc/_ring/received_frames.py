# SPDX-License-Identifier: Apache-2.0
"""Turn the packets that a reader receives into slots, layouts and frames, and check each value."""

from __future__ import annotations

from collections.abc import Callable
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
from .packets import FrameHeader
from .slots import SlotBytes, SlotUse

__all__ = ["Received"]


class Received:
    """The slots and layouts that one writer has sent, by their numbers.

    Args:
        mapped: frames are to be of the CPU's memory.
    """

    __slots__ = ("_latest", "_layouts", "_mapped", "_places", "_planes", "_ready", "_slots")

    def __init__(self, mapped: bool = False) -> None:
        self._mapped = mapped
        self._slots: dict[int, DMABuffer] = {}
        self._layouts: dict[int, Description] = {}
        # Of each slot and layout, when they first came together: then they are checked.
        self._planes: dict[tuple[int, int], tuple[DMAPlane, ...]] = {}
        # Of those of them that need no access to begin or end: the mapping, and where arrays lie.
        self._places: dict[tuple[int, int], tuple[Storage, Places]] = {}
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
        self, header: FrameHeader, body: bytes, fds: list[Fd], begin: Callable[[Use], object]
    ) -> Any:
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
        key = header.slot, header.layout
        # Once the use has its release, the slot goes back whatever happens.
        prepared = self._ready.pop(key, None)
        if prepared is None and (placed := self._places.get(key)) is not None:
            prepared = _made(*placed)
        if prepared is not None:
            use, natives = prepared
            description = self._layouts[header.layout]
            begin(use)
        else:
            buffer = self._slots.get(header.slot)
            if buffer is None:
                raise MessageError("frame.slot", f"{header.slot} was not sent")
            use = SlotUse(buffer, None, readonly=True)
            begin(use)
            found = self._layouts.get(header.layout)
            if found is None:
                raise MessageError("frame.layout", f"{header.layout} was not sent")
            description = found
            natives = _used_by(use, buffer, self._planes_of(key, description, buffer))
        self._latest = header.layout
        metadata, regions = _meta(body, fds) if body or fds else ({}, [])
        if description.meta is None:
            return self._tensor(natives[0], use)
        meta = FrameMeta(description.meta.info, header.pts, header.time_base, metadata, regions)
        if type(use) is SlotBytes:
            return Frame.borrowed(natives, CPU, meta, keep=use, readonly=True)
        frame = Frame.borrowed(natives, DMA, meta, keep=use, readonly=True)
        return frame.map("cpu") if self._mapped else frame

    def _tensor(self, native: Any, use: Use) -> Any:
        if type(use) is SlotBytes:
            return CpuTensor.borrowed(native, CPU, keep=use, readonly=True)
        tensor = DMATensor.borrowed(native, DMA, keep=use, readonly=True)
        return tensor.map("cpu") if self._mapped else tensor

    def _planes_of(
        self, key: tuple[int, int], description: Description, buffer: DMABuffer
    ) -> tuple[DMAPlane, ...]:
        """The planes of a layout in a slot; checked when they first come together."""
        planes = self._planes.get(key)
        if planes is None:
            planes = _checked(description, buffer)
            self._planes[key] = planes
            if self._mapped and not buffer.is_dma_buf and buffer.kept is not None:
                infos = [plane.info for plane in planes]
                if all(info.dtype.numpy is not None for info in infos):
                    mapped = buffer.kept.of(buffer)
                    seen = Storage(
                        address=mapped.address, nbytes=mapped.nbytes, holds=mapped, readonly=True
                    )
                    self._places[key] = seen, places_of(seen, infos, [p.offset for p in planes])
        return planes

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
            placed = self._places.get(key)
            if placed is not None:
                prepared = _made(*placed)
            else:
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
                    self._places.pop(key, None)
                    self._planes.pop(key, None)
                finally:  # last: nothing is prepared that is not among the planes
                    self._ready.pop(key, None)


def _made(seen: Storage, places: Places) -> _Prepared:
    """Of a frame that needs the CPU's arrays alone."""
    use = SlotBytes(seen)
    return use, tuple(arrays_at(np.asarray(use), places))


Use = SlotUse | SlotBytes
_Prepared = tuple[Use, tuple[Any, ...]]


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
