# SPDX-License-Identifier: Apache-2.0
"""close(): give memory back if, and only if, nobody else holds it.

numpy does not report whether views of an array are alive, and no framework reports who holds its
objects. But whoever holds memory holds a Python object that leads to it: the storage, the native
object, or one that lies between the two. So a census of the references to those is taken when the
memory is handed out, at a time when nobody but the tensor can hold any. close() takes another one:
where a count is higher, somebody else holds the memory, and nothing has been touched. Otherwise
the tensor's references are dropped like any others, and the release runs with the last of them.

A holder that no count shows makes close() forget to raise; it cannot make it release too early.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from sys import getrefcount
from types import FunctionType, ModuleType
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

from ..errors import BusyError
from .closed import make_closed
from .loans import sweep_loans
from .storage import Storage, outwards, raising_releases

__all__ = [
    "Census",
    "Countable",
    "drop",
    "end",
    "is_held",
    "leave_aside",
    "returns_memory",
    "take_census",
]

P = ParamSpec("P")
T = TypeVar("T")


class Countable(Protocol):
    """A Tensor or Frame, as far as closing goes."""

    _made: tuple[Storage, ...]
    _census: Census

    def _watched(self) -> list[tuple[object, tuple[object, ...] | None]]:
        """The owners and natives that lead to the memory, each with `_native_parts()` of it."""

    def _native_uses(self) -> int:
        """How many users of the memory the framework counts."""

    def _drop_caches(self) -> None:
        """Drop what the backend remembers of the native."""

    def _holds(self) -> list[tuple[object, ...]]:
        """What each plane refers to."""

    def _is_closed_plane(self, index: int) -> bool:
        """Whether that plane was closed by itself."""


class Census:
    """How many references there are to what leads to the memory of a tensor or frame."""

    __slots__ = ("_counts", "_holds", "_objects", "_uses")

    _objects: list[object]

    def __init__(self, item: Countable) -> None:
        self._holds = item._holds()  # makes the planes, if they are not there yet
        self._objects = _with_those_between(item._made)
        self._objects += _leading(item, self._objects)
        self._uses = item._native_uses()
        self._counts = list(map(getrefcount, self._objects))

    def is_exceeded(self, item: Countable) -> bool:
        """Whether somebody holds the memory who did not when the census was taken."""
        if not self._compare(item):
            return False
        item._drop_caches()
        # What a library gave back is dropped by the main thread, which may not have run since.
        sweep_loans()
        return self._compare(item)

    def _compare(self, item: Countable) -> bool:
        counts = list(map(getrefcount, self._objects))
        for index, held in enumerate(self._holds):
            if item._is_closed_plane(index):
                counts = [
                    count + sum(thing is part for part in held)
                    for count, thing in zip(counts, self._objects, strict=True)
                ]
        exceeds = counts != self._counts and any(
            now > then for now, then in zip(counts, self._counts, strict=True)
        )
        return exceeds or item._native_uses() > self._uses

    def holders(self, item: Countable) -> str:
        """What is held by others, in brackets: all that counts of references show of them."""
        counts = list(map(getrefcount, self._objects))
        more = [now - then for now, then in zip(counts, self._counts, strict=True)]
        found = [
            f"{count} to its {type(thing).__name__}"
            for thing, count in zip(self._objects, more, strict=True)
            if count > 0
        ]
        text = f"references: {', '.join(found)}" if found else ""
        users = item._native_uses() - self._uses
        if users > 0:
            text += f"{'; ' if text else ''}users that the framework counts: {users}"
        return f" ({text})" if text else ""

    def follow(self, item: Countable, change: Callable[[], None]) -> None:
        """Let `item` make its planes again, and count what it refers to then."""
        before = list(map(getrefcount, self._objects))
        change()
        self._holds = item._holds()
        known = set(map(id, self._objects))
        made = _with_those_between(item._made)
        self._objects += [thing for thing in _leading(item, made) if id(thing) not in known]
        now = list(map(getrefcount, self._objects))
        changed = zip(self._counts, before, now, strict=False)
        self._counts = [then + after - earlier for then, earlier, after in changed]
        self._counts += now[len(before) :]


def take_census(item: Any) -> None:
    """Note who holds the memory that was made for `item`, which nobody else can hold yet."""
    if hasattr(item, "_census"):  # it holds what is counted
        del item._census
    item._census = Census(item)


def returns_memory(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that returns a tensor or frame over memory that it made.

    The function has returned when the census is taken, so that no local variable of it counts as
    a holder. `Context.allocate` and `Context.allocate_frame` of every subclass are decorated
    already, and so is what map() makes.

    Args:
        function: what makes the memory.

    Returns:
        The function to be called in its place.
    """

    @wraps(function)
    def returning(*arguments: P.args, **named: P.kwargs) -> T:
        item: Any = function(*arguments, **named)
        del arguments, named  # they may hold what is counted
        if item._made:
            take_census(item)
        return item  # type: ignore[no-any-return]

    return returning


def end(item: Countable, holders: Sequence[Any]) -> None:
    """Close `holders`, the item among them, unless somebody else holds what was made for it.

    Raises:
        BusyError: somebody does; nothing has been touched.
    """
    # Nothing but the item itself is a local variable here, which the traceback would hold.
    if is_held(item):
        raise BusyError(
            "close(): an array, a slice, a DLPack capsule, a mapped tensor or a native object "
            "still uses this memory; drop it first (a reference cycle holds it until "
            "gc.collect()), or drop this tensor and let the last holder release it"
            f"{item._census.holders(item)}"
        )
    with raising_releases(outwards(item._made)):
        drop(holders)


def is_held(item: Countable, *, unknown: bool = False) -> bool:
    """Whether somebody else holds what was made for `item`; `unknown` where no census was taken."""
    if not item._made:
        return False
    census = getattr(item, "_census", None)
    return unknown if census is None else census.is_exceeded(item)


def drop(holders: Sequence[Any]) -> None:
    """Close `holders`: their memory is released with its last holder, which may be another."""
    try:
        _drop_each(holders)
    except BaseException:
        # KeyboardInterrupt, for one, comes between any two statements, and must not leave some of
        # them open. Of those that are closed already nothing is left to drop.
        _drop_each(holders)
        raise


def _drop_each(holders: Sequence[Any]) -> None:
    for holder in holders:
        make_closed(holder)


def _leading(item: Countable, made: Iterable[object]) -> list[object]:
    """The owners and natives of `item`, and what lies between those and the storages `made`."""
    ids = set(map(id, made))
    found: list[object] = []
    for thing, parts in item._watched():
        if id(thing) in ids:
            continue
        found.append(thing)
        if parts is not None:
            found += parts
        elif isinstance(thing, np.ndarray):
            base = thing.base
            while base is not None:
                if id(base) not in ids:
                    found.append(base)
                base = base.base if isinstance(base, np.ndarray) else None
        else:
            _walk(thing, ids, found, _DEPTH)
    return found


# How far from a native object the storage of its memory is looked for, and in what it is not.
_DEPTH = 3
_MOST_ITEMS = 64
_aside: tuple[type, ...] = (type, ModuleType, FunctionType)


def leave_aside(*classes: type) -> None:
    """Look for no storages in objects of those classes."""
    global _aside  # noqa: PLW0603 - the classes come later than this module
    _aside += classes


def _walk(thing: object, ids: set[int], found: list[object], depth: int) -> bool:
    """Whether `thing` leads to a storage; what lies between goes into `found`."""
    leads = False
    for part in _referents(thing):
        if id(part) in ids:
            leads = True
        elif not depth or not (gc.is_tracked(part) or isinstance(part, np.ndarray)):
            continue  # nothing of ours can be reached from there
        elif not isinstance(part, _aside) and _walk(part, ids, found, depth - 1):
            leads = True
            if type(part) is not dict:  # the attributes of an object, which nobody else holds
                found.append(part)
    return leads


def _referents(thing: object) -> Sequence[object]:
    if isinstance(thing, np.ndarray):
        return () if thing.base is None else (thing.base,)
    if isinstance(thing, Storage):
        return (thing.keep,)
    if isinstance(thing, dict | list | tuple | set) and len(thing) > _MOST_ITEMS:
        return ()
    return gc.get_referents(thing)


def _with_those_between(made: tuple[Storage, ...]) -> list[Any]:
    """`made`, and what lies between two of them, which holds the one and is held by the other.

    A backend may let several mappings share one storage, which is none of theirs alone. While it
    lives, the storage that it lies in could not end.
    """
    if len(made) < 2:
        return list(made)
    ids = {id(storage) for storage in made}
    leading = set(ids)
    found: list[Any] = []
    # From the outermost on: what lies in something that leads to one of `made` leads there too.
    for storage in reversed(outwards(made)):
        if id(storage) in leading or any(id(s) in leading for s in outwards((storage.keep,))):
            leading.add(id(storage))
            found.append(storage)
    return found
