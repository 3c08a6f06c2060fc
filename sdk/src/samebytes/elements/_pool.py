# SPDX-License-Identifier: Apache-2.0
"""FramePool: frames that an element gives, used again when nobody holds them."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.closing import are_gone
from .._core.frame import Frame
from .._core.frame_meta import FrameMeta
from .._core.locks import Lock
from .._core.pointers import data_address
from .._core.storage import LeasedStorage, Storage, joint_owner, parts_of
from ._channel import Stopped
from ._current import CURRENT, blocked, is_stopping
from ._watch import Clock

__all__ = ["FramePool"]

_FIRST_NAP, _LONGEST_NAP = 0.0005, 0.02
_PATIENCE = 10.0


class FramePool:
    """At most so many frames, each used again once nobody holds it: no frame, array or mapping.

        self.pool = el.FramePool(lambda: context.allocate_frame("NV12", 1920, 1080), maximum=8)
        frame = self.pool.acquire()

    Args:
        make: allocates a frame, which the pool then owns; called at most `maximum` times.
        maximum: how many frames there are at most.
        timeout: seconds to wait for one that is free, while no frame of the pipeline moves. None
            for the `pool_timeout` of the pipeline, or 10 where there is none.
        name: who uses it, for errors.

    Any thread may use it at any time.
    """

    def __init__(
        self,
        make: Callable[[], Frame[Any]],
        *,
        maximum: int = 16,
        timeout: float | None = None,
        name: str = "pool",
    ) -> None:
        if maximum < 1:
            raise ValueError(f"maximum={maximum}: a pool has at least one frame")
        self._make = make
        self._maximum = maximum
        self._timeout = timeout
        self._name = name
        self._lock = Lock()
        self._slots: list[_Slot] = []

    def acquire(self) -> Frame[Any]:
        """A frame that nobody else holds, to be written; its contents are those of its last use.

        It has metadata of its own, and goes back by itself with its last holder. Of memory that the
        CPU cannot read in place each is allocated again: the pool bounds how many there are.

        Raises:
            PoolTimeoutError: all are in use, and none came back in time.

        When the pipeline stops whose element waits here, the wait ends at once: an exception of the
        pipeline's own leaves the element.
        """
        with self._lock:
            found = self._free()
        if found is None:
            with blocked():
                found = self._awaited()
        return found

    def close(self) -> None:
        """Let go of the frames; those that are held live on with their holders."""
        with self._lock:
            self._slots.clear()

    def __len__(self) -> int:
        """The number of frames that were allocated."""
        return len(self._slots)

    def _awaited(self) -> Frame[Any]:
        watch = None if CURRENT.run is None else CURRENT.run.watch
        patience = self._timeout
        if patience is None:
            patience = _PATIENCE if watch is None else watch.patience
        clock, nap = Clock(patience), _FIRST_NAP
        while True:
            if is_stopping():
                raise Stopped
            # No event says that the last array is gone: whoever held it just drops it.
            time.sleep(nap)
            nap = min(2 * nap, _LONGEST_NAP)
            with self._lock:
                found = self._free()
            if found is not None:
                return found
            if clock.is_over():
                raise clock.pool_error(self._name, self._maximum)

    def _free(self) -> Frame[Any] | None:
        for slot in self._slots:
            if are_gone(slot.users):
                break
        else:
            if len(self._slots) == self._maximum:
                return None
            slot = _Slot()
        if slot.frame is None:
            slot.frame = self._make()
        lent, slot.users = _lent(slot.frame)
        if lent is slot.frame:
            slot.frame = None  # its memory goes with its last holder
        if slot not in self._slots:
            self._slots.append(slot)
        return lent


class _Slot:
    """A frame of the pool's, and who uses it.

    Attributes:
        frame: what the pool holds of it; None where its memory is made again each time.
        users: the storages that all who use it hold.
    """

    __slots__ = ("frame", "users")

    def __init__(self) -> None:
        self.frame: Frame[Any] | None = None
        self.users: list[weakref.ref[Storage]] = []


def _lent(frame: Frame[Any]) -> tuple[Frame[Any], list[weakref.ref[Storage]]]:
    """A frame over the same bytes whose arrays hold storages of its own, and these storages.

    Memory that has no arrays cannot be lent like this: its frame itself is given away.
    """
    if not all(type(plane.native) is np.ndarray for plane in frame.planes):
        return frame, [weakref.ref(part) for part in frame._made or parts_of(frame.storage)]
    leases: dict[int, LeasedStorage] = {}
    natives, owners = [], []
    for plane in frame.planes:
        owner: Any = plane._owner
        low, high = plane.info.extent
        first = data_address(plane.native) + low
        whole = isinstance(owner, Storage) and owner.address
        key = owner.address if whole else first
        lease = leases.get(key)
        if lease is None:
            nbytes = owner.nbytes if whole else high - low
            lease = leases[key] = LeasedStorage(address=key, nbytes=nbytes, keep=owner)
        native = plane.native
        natives.append(
            np.ndarray(native.shape, native.dtype, np.asarray(lease), first - low - key,
                       native.strides)
        )  # fmt: skip
        owners.append(lease)
    meta = FrameMeta(frame.meta.info)
    lent = Frame.borrowed(tuple(natives), frame.context, meta, keep=joint_owner(owners))
    return lent, list(map(weakref.ref, leases.values()))
