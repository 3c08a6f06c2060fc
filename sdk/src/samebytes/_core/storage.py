# SPDX-License-Identifier: Apache-2.0
"""Storage: the one owner of bytes, or of a native handle, that must be given back."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from .uncopyable import Uncopyable

__all__ = ["Storage", "publish", "settle"]

# Newest last. Only storages that ask for it: see Storage(at_exit=True).
_released_at_exit: dict[int, weakref.ref[Storage]] = {}


class Storage(Uncopyable):
    """Owns memory or a handle, and gives it back once, when its last holder is gone.

    Every tensor, array, capsule and native object over the memory holds the storage strongly, so
    no order of drops can leave one of them dangling. numpy arrays hold it as their base:
    `numpy.asarray(storage)` gives the bytes as a 1-D uint8 array.

    Args:
        release: called once, without arguments, by whichever thread drops the last holder.
            None for memory that belongs to somebody else.
        address: of the first byte, if the CPU can use it; 0 otherwise.
        nbytes: size in bytes.
        keep: what the memory lies in: another storage, or the user's own object.
        readonly: arrays made from it cannot be made writable.
        flush: publishes writes without ending the mapping; None if nothing needs to be done.
        wait: returns when what was enqueued on this memory is done; None if nothing ever is.
        at_exit: release at interpreter exit if still alive, newest first. For memory whose
            release runs code of a library that would crash later in the shutdown; it must not
            be read afterwards. Plain memory needs none of this: it ends with the process.
            A forked child never releases such memory: a driver's handles, and the descriptors
            behind them, are its parent's.
    """

    _instead = "hold the same one, or copy the array that lies in it"

    __slots__ = ("__array_interface__", "__weakref__", "address", "flush", "keep", "nbytes",
                 "readonly", "release", "wait")  # fmt: skip

    def __init__(
        self,
        release: Callable[[], object] | None = None,
        *,
        address: int = 0,
        nbytes: int = 0,
        keep: object = None,
        readonly: bool = False,
        flush: Callable[[], object] | None = None,
        wait: Callable[[], object] | None = None,
        at_exit: bool = False,
    ) -> None:
        self.release = release
        self.address = address
        self.nbytes = nbytes
        self.keep = keep
        self.readonly = readonly
        self.flush = flush
        self.wait = wait
        if address:
            self.__array_interface__ = {
                "shape": (nbytes,),
                "typestr": "|u1",
                "data": (address, readonly),
                "version": 3,
            }
        if at_exit:
            _released_at_exit[id(self)] = weakref.ref(self)

    def __del__(self) -> None:
        release = self.release
        if release is not None:
            self.release = None
            _released_at_exit.pop(id(self), None)
            release()

    def __repr__(self) -> str:
        kind = "owned" if self.release is not None else "borrowed"
        where = f" at {self.address:#x}" if self.address else ""
        return f"<Storage {self.nbytes} bytes{where}, {kind}>"


def publish(owner: object) -> None:
    """Call every flush from `owner` outwards: the last mapping first, then what it lies in."""
    while isinstance(owner, Storage):
        if owner.flush is not None:
            owner.flush()
        owner = owner.keep


def settle(owner: object) -> None:
    """Call every wait from `owner` outwards."""
    while isinstance(owner, Storage):
        if owner.wait is not None:
            owner.wait()
        owner = owner.keep


def dismantle(storage: Storage) -> dict[str, Any]:
    """Disarm `storage` and return what `revive` needs. The recipe does not hold the storage."""
    at_exit = _released_at_exit.pop(id(storage), None) is not None
    recipe = {
        "release": storage.release,
        "address": storage.address,
        "nbytes": storage.nbytes,
        "keep": storage.keep,
        "readonly": storage.readonly,
        "flush": storage.flush,
        "wait": storage.wait,
        "at_exit": at_exit,
    }
    storage.release = None
    return recipe


def revive(storage: Storage | None, recipe: dict[str, Any]) -> Storage:
    """Undo `dismantle`: arm the storage again if it still lives, else make one like it."""
    if storage is None:
        return Storage(**recipe)
    storage.release = recipe["release"]
    if recipe["at_exit"]:
        _released_at_exit[id(storage)] = weakref.ref(storage)
    return storage


@atexit.register
def _release_living() -> None:
    for ref in reversed(list(_released_at_exit.values())):
        storage = ref()
        if storage is not None:
            storage.__del__()


def _leave_to_the_parent() -> None:
    for ref in list(_released_at_exit.values()):
        storage = ref()
        if storage is not None and storage.release is not None:
            # Held on: what it holds may unmap, when it ends, what the child still reads.
            storage.release = partial(_nothing, storage.release)
    _released_at_exit.clear()


def _nothing(release: Callable[[], object]) -> None:
    pass


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_leave_to_the_parent)
