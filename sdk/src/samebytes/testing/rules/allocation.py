# SPDX-License-Identifier: Apache-2.0
"""Rules for memory that a context allocates: its layout, and what close() does with it."""

from __future__ import annotations

import gc
import weakref
from contextlib import suppress
from typing import Any

import numpy as np

from ..._core.edges.context import Context
from ..._core.memory.frame import Frame
from ..._core.memory.info import TensorInfo
from ..._core.memory.tensor import Tensor
from ..._core.owner.closing import memory_of
from ..._core.owner.loans import sweep_loans
from ...errors import NativeError, NotHostVisibleError, UnsupportedObjectError
from .book import BrokenRule, NotChecked, rule
from .subjects import Array, Item, MemorySubject, planes_of, require_same

__all__ = [
    "allocated_as_asked", "close_gives_back", "held_memory_lives_on",
    "living_memory_shares_no_byte", "planes_share_no_byte",
]  # fmt: skip

# How many objects are held at once if no pool is declared, and the maximum with one.
_HELD, _MOST_HELD = 8, 64
# How many others come and go meanwhile if no pool is declared: enough to go round a queue of slots.
_ROUNDS = 200
# How many objects reuse freed memory, so that reading it after its release shows.
_OTHERS = 4


@rule(
    "2.1",
    "allocated memory has the requested layout",
    means="users write over other elements, or into memory that is not theirs",
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
    with suppress(NotHostVisibleError):
        strides = tensor.host_array().strides
        if strides != tensor.strides:
            raise BrokenRule(f"its strides are {tensor.strides}, and its array has {strides}")


@rule(
    "2.2",
    "close() returns True exactly when the memory that was made is gone",
    means="memory stays until the program ends, or is freed under an array that reads it",
    do="allocate() returns Tensor.owned(native, context, storage), and allocate_frame() "
    "Frame.owned(native, context, meta, storage); the native and the arrays over it hold the "
    "storage: numpy.asarray(storage) is its memory",
)
def close_gives_back(subject: MemorySubject) -> None:
    """Close objects while each of their planes is held in turn, and one that nothing holds."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        for number in range(len(subject.holders(subject.allocate()))):
            _close_held(subject, number)
        item = subject.allocate()
        made = _made(item)
        said = item.close()
        if not item.closed:
            raise BrokenRule("after close() it is not closed")
        if _living(made):
            raise BrokenRule("after close() something still holds the storage")
        if said is not True:
            raise BrokenRule(f"close() said {said}, and what was made is gone")
        if item.close() is not None:
            raise BrokenRule("close() of a closed one said something")
    finally:
        if collecting:
            gc.enable()


def _close_held(subject: MemorySubject, number: int) -> Any:
    """Close an item that is held, and return what holds it."""
    item = subject.allocate()
    made = _made(item)
    held = subject.holders(item)[number]()
    where = f" of plane {number}" if isinstance(item, Frame) else ""
    said = item.close()
    if said is not False:
        raise BrokenRule(f"close() said {said} although an array{where} over it is alive")
    if not item.closed:
        raise BrokenRule("close() said False, and did not close it")
    if not _living(made):
        raise BrokenRule(f"close() said False, and what the array{where} lies in is gone")
    return held


def _made(item: Item) -> list[weakref.ref[Any]]:
    if not item._made:
        raise BrokenRule("allocate() made no storage: close() releases nothing")
    return memory_of(item._made)


def _living(made: list[weakref.ref[Any]]) -> bool:
    return any(storage() is not None for storage in made)


@rule(
    "2.3",
    "after False, holders read and write the right bytes, and the last one releases",
    means="an array that was kept reads and writes memory of another user, or is never released",
    do="release only in the Storage, which every array and native holds; an override of close() or "
    "of a hook of it must not touch memory",
)
def held_memory_lives_on(subject: MemorySubject) -> None:
    """Close objects that are held, use their bytes while others come and go, and drop them."""
    for number in range(len(subject.holders(subject.allocate()))):
        item = subject.allocate()
        made = _made(item)
        values = subject.contents.write(item, 11)[number]
        item.flush()
        held = subject.holders(item)[number]()
        if (said := item.close()) is not False:
            raise BrokenRule(f"close() said {said} of memory that is held")
        others = [subject.allocate() for _ in range(_OTHERS)]
        for seed, other in enumerate(others):
            subject.contents.write(other, 20 + seed)
        if hasattr(held, "shape"):
            array = np.asarray(held)
            require_same([values[1:]], [array], "closed, and an array of it held other bytes")
            if array.flags.writeable:
                array[...] = values[:-1]
                require_same([values[:-1]], [array], "closed, and an array of it cannot be written")
            del array
        elif hasattr(held, "keep") and not _living(made):
            raise BrokenRule("closed, and the storage that was held is not what was made")
        del other, others, held
        gc.collect(1)  # what was made a moment ago
        sweep_loans()
        if _living(made):
            raise BrokenRule("closed, and its last holder gave nothing back")


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
    for number, view in enumerate(subject.contents.views(item) or ()):
        if isinstance(view, np.ndarray):
            _require_apart(number, TensorInfo(view.dtype, view.shape, view.strides))
    values = subject.contents.write(item, 7)
    for number, (ours, theirs) in enumerate(zip(values, subject.contents.read(item), strict=True)):
        require_same([ours], [theirs], f"plane {number} has what was written to another plane")


def _require_apart(number: int, info: TensorInfo) -> None:
    if info.overlaps:
        raise BrokenRule(
            f"rows or pixels of plane {number} overlap: {list(info.shape)} with strides "
            f"{info.strides}"
        )


@rule(
    "2.8",
    "allocated memory has no other user while it lives",
    means="two users of allocate() write to the same bytes",
    do="a slot of a pool is given back by the release of the Storage, and nowhere else: "
    "Storage(slot.release, address=..., nbytes=...)",
)
def living_memory_shares_no_byte(subject: MemorySubject, pool: int | None = None) -> str:
    """Hold some objects while others come and go, and see that they keep their values.

    Args:
        pool: the size of the declared pool, if there is one.

    Raises:
        NotChecked: two cannot live together, or their elements cannot be seen.
    """
    held: list[Item] = []
    values: list[list[Array]] = []
    number = _HELD if pool is None else min(pool - 1, _MOST_HELD)
    with suppress(NativeError):  # a pool that is smaller, or that others use too
        for seed in range(number + 1):
            held.append(subject.allocate())
            values.append(subject.contents.write(held[-1], seed))
    if len(held) < 2:
        raise NotChecked("no two of them can be had at once")
    del held[-1], values[-1]  # this makes room for another
    _require_values(subject, held, values, len(held) + 1)
    rounds = _ROUNDS if pool is None else pool
    for turn in range(rounds):
        other = subject.allocate()
        subject.contents.write(other, _MOST_HELD + 1 + turn % 100)
        del other
    _require_values(subject, held, values, len(held) + 1 + rounds)
    return f"{len(held) + 1} at once"


def _require_values(
    subject: MemorySubject, held: list[Item], values: list[list[Array]], made: int
) -> None:
    for number, (item, written) in enumerate(zip(held, values, strict=True)):
        otherwise = f"number {number}, which is held, has what was written to another of {made}"
        require_same(written, subject.contents.read(item), otherwise)
