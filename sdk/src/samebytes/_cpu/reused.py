# SPDX-License-Identifier: Apache-2.0
"""Frames whose memory is used again once nobody holds it."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._core.memory.frame import Frame
from .._core.memory.meta import FrameMeta
from .._core.native.pointers import data_address
from .._core.owner.closing import are_gone
from .._core.owner.locks import Lock
from .._core.owner.storage import LeasedStorage, Storage, joint_owner, parts_of

__all__ = ["ReusedFrames"]


class ReusedFrames:
    """At most so many frames, each lent again once no frame, array or mapping holds it.

    Args:
        make: allocates a frame; called at most `maximum` times for memory of the CPU.
        maximum: how many frames there are at most.

    Any thread may use it at any time.
    """

    def __init__(self, make: Callable[[], Frame[Any]], maximum: int) -> None:
        self._make = make
        self._maximum = maximum
        self._lock = Lock()
        self._slots: list[_Slot] = []

    def lend(self) -> Frame[Any] | None:
        """A frame that nobody else holds, with metadata of its own; None if all are in use."""
        with self._lock:
            return self._free()

    def clear(self) -> None:
        """Let go of the frames; those that are held live on with their holders."""
        with self._lock:
            self._slots.clear()

    def __len__(self) -> int:
        """The number of frames that were allocated."""
        return len(self._slots)

    def _free(self) -> Frame[Any] | None:
        for slot in self._slots:
            if are_gone(slot.users):
                break
        else:
            if len(self._slots) == self._maximum:
                return None
            slot = _Slot()
        if slot.places is None:
            made = self._make()
            if not all(type(plane.native) is np.ndarray for plane in made.planes):
                # It cannot be lent: it is given away, and its memory goes with its last holder.
                slot.users = [weakref.ref(part) for part in made._made or parts_of(made.storage)]
                self._slots = [*[one for one in self._slots if one is not slot], slot]
                return made
            slot.places = _Places(made)
        lent, slot.users = slot.places.lent()
        if slot not in self._slots:
            self._slots.append(slot)
        return lent


class _Slot:
    """One of the frames, and its users.

    Attributes:
        places: where its planes lie; None where its memory is made again each time.
        users: the storages that all who use it hold.
    """

    __slots__ = ("places", "users")

    def __init__(self) -> None:
        self.places: _Places | None = None
        self.users: list[weakref.ref[Storage]] = []


class _Lease(NamedTuple):
    """A piece of the frame's memory, which planes lie in.

    Attributes:
        address, nbytes: where it is.
        owner: what keeps it.
        memory_at: makes a ctypes array of it, with an attribute `owner`, whose buffer costs numpy
            less than the array interface of a storage.
    """

    address: int
    nbytes: int
    owner: Any
    memory_at: Any


# Of one size each, since a type is freed by the collector alone.
@lru_cache(maxsize=64)
def _memory_at(nbytes: int) -> Any:
    kind: Any = type("LentMemory", (ctypes.c_ubyte * nbytes,), {"__slots__": ("owner",)})
    return kind.from_address


class _Places:
    """The memory of a frame, and where its planes lie in that.

    Args:
        frame: one whose planes are arrays.
    """

    def __init__(self, frame: Frame[Any]) -> None:
        self._context = frame.context
        self._info = frame.meta.info
        self._leases: list[_Lease] = []
        self._planes: list[tuple[int, tuple[int, ...], np.dtype[Any], int, tuple[int, ...]]] = []
        known: dict[int, int] = {}
        for plane in frame.planes:
            owner: Any = plane._owner
            low, high = plane.info.extent
            first = data_address(plane.native) + low
            whole = isinstance(owner, Storage) and owner.address
            address = owner.address if whole else first
            number = known.setdefault(address, len(known))
            if number == len(self._leases):
                nbytes = owner.nbytes if whole else high - low
                self._leases.append(_Lease(address, nbytes, owner, _memory_at(nbytes)))
            native = plane.native
            place = first - low - address
            self._planes.append((number, native.shape, native.dtype, place, native.strides))

    def lent(self) -> tuple[Frame[Any], list[weakref.ref[Storage]]]:
        """A frame over the bytes whose arrays hold storages of its own, and these storages."""
        leases, memories = [], []
        for address, nbytes, owner, memory_at in self._leases:
            lease = LeasedStorage(address=address, nbytes=nbytes, keep=owner)
            memory = memory_at(address)
            memory.owner = lease
            leases.append(lease)
            # An array of all of it beneath the planes': by it one finds what lies around them.
            memories.append(np.ndarray((nbytes,), np.uint8, memory))
        natives = tuple(
            [
                np.ndarray(shape, dtype, memories[number], place, strides)
                for number, shape, dtype, place, strides in self._planes
            ]
        )
        owner = leases[0]
        if len(leases) > 1:
            owner = joint_owner([leases[number] for number, *_ in self._planes])
        # By position and without a call between: this makes every frame that is converted.
        lent: Frame[Any] = Frame(natives, self._context, owner, None, False, FrameMeta(self._info))
        return lent, list(map(weakref.ref, leases))
