# SPDX-License-Identifier: Apache-2.0
"""close(): drop what an object holds, and find out whether the memory is gone.

Whoever uses memory holds its storage, by whatever way. So weak references to the storages say all:
one that is alive after the object has dropped its own has another holder, who releases it.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from .closed import make_closed
from .loans import sweep_loans
from .storage import NativeStorage, Storage, outwards, raising_releases

__all__ = ["are_gone", "drop", "end", "memory_of"]


def end(item: Any, holders: Sequence[Any]) -> bool | None:
    """Close `holders`, the item among them: see Holder.close()."""
    made: tuple[Storage, ...] = item._made
    if not made:
        drop(holders)
        return None
    with raising_releases(outwards(made)):
        living = memory_of(made)
        del made
        drop(holders)
        return are_gone(living)


def memory_of(made: tuple[Storage, ...]) -> list[weakref.ref[Any]]:
    """Weak references to all that lives as long as the memory of these storages."""
    living: list[weakref.ref[Any]] = []
    for storage in made:
        living.append(weakref.ref(storage))
        if isinstance(storage, NativeStorage):
            natives = storage.keep if isinstance(storage.keep, tuple) else (storage.keep,)
            living += map(weakref.ref, natives)
    return living


def are_gone(living: Sequence[weakref.ref[Any]]) -> bool:
    """True if none of these storages is held; what libraries gave back is dropped before."""
    if any(storage() is not None for storage in living):
        # The main thread drops what a library gave back, and may not have run since.
        sweep_loans()
    return all(storage() is None for storage in living)


def drop(holders: Sequence[Any]) -> None:
    """Close `holders`: their memory is released with its last holder, which may be another."""
    try:
        for holder in holders:
            make_closed(holder)
    except BaseException:  # of a signal handler: a frame closes with its planes, or not at all
        for holder in holders:
            make_closed(holder)
        raise
