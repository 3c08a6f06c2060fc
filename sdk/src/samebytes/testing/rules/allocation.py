# SPDX-License-Identifier: Apache-2.0
"""Memory that a context allocates: what is asked for, and what close() does with it."""

from __future__ import annotations

import gc
import weakref
from contextlib import suppress
from typing import Any

import numpy as np

from ..._core.context import Context
from ..._core.frame import Frame
from ..._core.info import TensorInfo
from ..._core.tensor import Tensor
from ...errors import BusyError, NativeError, SamebytesError, UnsupportedObjectError
from .book import BrokenRule, NotChecked, rule
from .subjects import Array, Item, MemorySubject, planes_of, require_same

__all__ = [
    "allocated_as_asked", "close_gives_back", "living_memory_shares_no_byte",
    "planes_share_no_byte", "refused_close_touches_nothing",
]  # fmt: skip

# How much is held at once where no pool is declared, and at most.
_HELD, _MOST_HELD = 8, 64
# How much comes and goes meanwhile where no pool is declared: a queue of slots comes round.
_ROUNDS = 200


@rule(
    "2.1",
    "allocated memory is of the asked layout",
    means="users write their elements where others lie, or into somebody else's memory",
    do="allocate(shape, dtype) returns a writable tensor of the context, without a parent",
)
def allocated_as_asked(context: Context, shape: tuple[int, ...], dtype: str) -> None:
    """Allocate a tensor.

    Raises:
        NotChecked: the context allocates none.
    """
    try:
        tensor = context.allocate(shape, dtype)
    except UnsupportedObjectError as error:
        raise NotChecked(str(error)) from error
    if not isinstance(tensor, Tensor):
        raise BrokenRule(f"allocate() returned {type(tensor).__name__}, not a Tensor")
    if (tensor.shape, str(tensor.dtype)) != (shape, dtype):
        raise BrokenRule(f"{dtype}{list(shape)} was asked for, and {tensor!r} was made")
    if tensor.context is not context or tensor.parent is not None or tensor.readonly:
        raise BrokenRule(f"{tensor!r} is of another context, has a parent, or is read-only")


@rule(
    "2.2",
    "close() gives memory back, and only if nobody uses it",
    means="memory is freed under an array that reads it, or not until the program ends",
    do="allocate() returns Tensor.owned(native, context, storage), and allocate_frame() "
    "Frame.owned(native, context, meta, storage); the native and the arrays over it hold the "
    "storage: numpy.asarray(storage) is its memory",
)
def close_gives_back(subject: MemorySubject) -> None:
    """Close what is held, plane by plane, and then what is not."""
    item = subject.allocate()
    made = [weakref.ref(storage) for storage in item._made]
    for number, hold in enumerate(subject.holders(item)):
        held = hold()
        _require_busy(item, number)
        del held
    del hold
    collecting = gc.isenabled()
    gc.disable()
    try:
        item.close()
        if not item.closed:
            raise BrokenRule("after close() it is not closed")
        if any(storage() is not None for storage in made):
            raise BrokenRule("after close() something still holds the storage")
    finally:
        if collecting:
            gc.enable()


@rule(
    "2.3",
    "a refused close() touches nothing",
    means="whoever catches BusyError is left with an object that is half closed",
    do="release in the Storage alone; where close() or a hook of it is overridden, ask before "
    "anything is dropped",
)
def refused_close_touches_nothing(subject: MemorySubject) -> None:
    """Close what is held, twice; look at it, use it and close it."""
    for number in range(len(subject.holders(subject.allocate()))):
        item = subject.allocate()
        values = subject.sight.write(item, 11)
        before = _state(item)
        held = subject.holders(item)[number]()
        for _ in range(2):
            _require_busy(item, number)
            _require_state(item, before)
            require_same(values, subject.sight.read(item), "BusyError, and its bytes changed")
        item.flush()
        item.wait()
        later = subject.sight.write(item, 60)
        require_same(later, subject.sight.read(item), "after BusyError, it cannot be written")
        _require_seen(subject, item, held, number)
        mapped = item.map(item.context)
        require_same(later, subject.sight.read(mapped), "after BusyError, it maps to other bytes")
        del held, mapped
        try:
            item.close()
        except SamebytesError as error:
            raise BrokenRule(f"after BusyError, it cannot be closed: {error}") from None


@rule(
    "2.7",
    "the planes of an allocated frame share no byte",
    means="what is written to one row or plane shows in another: luma in chroma",
    do="a pitch has at least the bytes of a row: image.plane_layouts(pitches, offsets) "
    "checks that; and a plane begins where the one before has ended",
)
def planes_share_no_byte(subject: MemorySubject) -> None:
    """Look at the layouts of the planes, write to all, and read all.

    Raises:
        NotChecked: its elements cannot be seen.
    """
    item = subject.allocate()
    for number, plane in enumerate(planes_of(item)):
        _require_apart(number, plane.info)
    for number, view in enumerate(subject.sight.views(item) or ()):
        if isinstance(view, np.ndarray):
            _require_apart(number, TensorInfo(view.dtype, view.shape, view.strides))
    values = subject.sight.write(item, 7)
    for number, (ours, theirs) in enumerate(zip(values, subject.sight.read(item), strict=True)):
        require_same([ours], [theirs], f"plane {number} has what was written to another plane")


def _require_apart(number: int, info: TensorInfo) -> None:
    if info.overlaps:
        raise BrokenRule(
            f"rows or pixels of plane {number} overlap: {list(info.shape)} with strides "
            f"{info.strides}"
        )


@rule(
    "2.8",
    "allocated memory is nobody else's while it lives",
    means="two users of allocate() write to the same bytes",
    do="a slot of a pool is given back by the release of the Storage, and nowhere else: "
    "Storage(slot.release, address=..., nbytes=...)",
)
def living_memory_shares_no_byte(subject: MemorySubject, pool: int | None = None) -> str:
    """Hold some, let others come and go, and see that what is held has its values.

    Args:
        pool: how many there are, where they come from a pool that is declared.

    Raises:
        NotChecked: two cannot live together, or its elements cannot be seen.
    """
    held: list[Item] = []
    values: list[list[Array]] = []
    number = _HELD if pool is None else min(pool - 1, _MOST_HELD)
    with suppress(NativeError):  # a pool that is smaller, or that others use too
        for seed in range(number + 1):
            held.append(subject.allocate())
            values.append(subject.sight.write(held[-1], seed))
    if len(held) < 2:
        raise NotChecked("no two of them can be had at once")
    del held[-1], values[-1]  # it makes room for one
    _require_values(subject, held, values, len(held) + 1)
    rounds = _ROUNDS if pool is None else pool
    for turn in range(rounds):
        other = subject.allocate()
        subject.sight.write(other, _MOST_HELD + 1 + turn % 100)
        del other
    _require_values(subject, held, values, len(held) + 1 + rounds)
    return f"{len(held) + 1} at once"


def _require_values(
    subject: MemorySubject, held: list[Item], values: list[list[Array]], made: int
) -> None:
    for number, (item, written) in enumerate(zip(held, values, strict=True)):
        otherwise = f"number {number}, which is held, has what was written to another of {made}"
        require_same(written, subject.sight.read(item), otherwise)


def _require_busy(item: Item, number: int) -> None:
    where = f" of plane {number}" if isinstance(item, Frame) else ""
    try:
        item.close()
    except BusyError:
        if item.closed:
            raise BrokenRule("close() raised BusyError, and closed it") from None
        return
    raise BrokenRule(f"close() raised no BusyError although an array{where} over it is alive")


def _require_state(item: Item, before: dict[str, Any]) -> None:
    try:
        changed = [what for what, value in _state(item).items() if value != before[what]]
    except Exception as error:
        raise BrokenRule(f"BusyError, and then {type(error).__name__}: {error}") from error
    if changed:
        raise BrokenRule(f"BusyError, and it has another {', '.join(changed)}")


def _state(item: Item) -> dict[str, Any]:
    """What there is of it, without a reference to any of that."""
    natives = item.native if isinstance(item.native, tuple) else (item.native,)
    planes = planes_of(item)
    return {
        "native object": [id(native) for native in natives],
        "context": id(item.context),
        "parent": item.parent,
        "access": item.readonly,
        "plane": [id(plane) for plane in planes],
        "layout": [plane.info for plane in planes],
        "handle": [_handle(plane) for plane in planes],
        "storage": [id(plane.storage) for plane in planes],
    }


def _handle(plane: Tensor) -> int | None:
    try:
        return plane.handle("data")
    except SamebytesError:
        return None


def _require_seen(subject: MemorySubject, item: Item, held: Any, number: int) -> None:
    """What held the memory sees what was written afterwards, if it is a view."""
    views = subject.sight.views(item)
    if views is None or not hasattr(held, "shape"):
        return
    if not np.array_equal(np.asarray(held), np.asarray(views[number])[1:]):
        raise BrokenRule("BusyError, and an array that was there lies in other memory")
