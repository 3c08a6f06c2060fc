# SPDX-License-Identifier: Apache-2.0
"""Rules that arrays, planes and natives keep their memory after all else was dropped."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ..._core.edges.edge import Access, Transfer
from ..._core.memory.frame import Frame
from ..._core.memory.tensor import Tensor
from ..._core.owner.storage import Storage
from ...errors import SamebytesError
from .book import BrokenRule, NotChecked, rule
from .subjects import Array, Item, MappingSubject, MemorySubject, planes_of, require_same

__all__ = [
    "array_keeps_its_memory", "mapping_outlives_its_source", "mappings_close_in_any_order",
    "plane_keeps_its_memory", "source_closes_after_its_mapping",
]  # fmt: skip

# How many objects reuse freed memory, so that reading it after its release shows.
_OTHERS = 4


@rule(
    "3.1",
    "an array keeps the memory that it lies in",
    means="it reads and writes memory of another user, such as the next one of a pool's slot",
    do="host_array() returns arrays whose base holds the Storage: numpy.asarray(storage)",
)
def array_keeps_its_memory(subject: MemorySubject) -> None:
    """Keep an array of each plane in turn, and drop the rest.

    Raises:
        NotChecked: its elements cannot be seen in place.
    """
    for index in range(len(planes_of(subject.allocate()))):
        item = subject.allocate()
        values = subject.contents.write(item, 7)[index]
        view = _view(subject.contents.views(item), index)
        storage = planes_of(item)[index].storage
        released = _ref(storage) if storage in item._made else None
        del item, storage
        gc.collect(1)  # what was made a moment ago
        if released is not None and released() is None:
            raise BrokenRule(f"plane {index} was given back while an array over it was alive")
        others = _take_freed_memory(subject.allocate, subject.contents.write)
        seen = np.array(view)
        del others
        require_same([values], [seen], "it was dropped, and then its array held other bytes")


@rule(
    "3.2",
    "a plane keeps its own memory",
    means="colours change, or the program crashes, when the frame is dropped before its chroma",
    do="each plane in memory of its own has a Storage of its own: return joint_owner(storages), "
    "and base each plane's native on its Storage",
)
def plane_keeps_its_memory(subject: MappingSubject, access: Access) -> None:
    """Keep a view of each plane of a mapped frame in turn, or its native, and drop the rest.

    Raises:
        NotChecked: there is no way to see what a plane's native holds.
    """
    for index in range(len(planes_of(subject.item()))):
        item = subject.item()
        values = subject.source.write(item, 40)[index]
        item.flush()
        mapped = subject.map(item, access)
        views = subject.target.views(mapped)
        kept: Any = planes_of(mapped)[index].native if views is None else views[index]
        storage = planes_of(mapped)[index].storage
        released = _ref(storage) if _is_made(storage, mapped) else None
        visible = views is not None
        del views
        del item, mapped, storage
        gc.collect(1)  # what was made a moment ago
        if released is not None and released() is None:
            raise BrokenRule(f"plane {index} was given back while a view of it was alive")
        others = _take_freed_memory(subject.item, subject.source.write)
        seen = [np.array(kept)] if visible else subject.target.read_native(kept, Tensor)
        del others
        if seen is None:
            raise NotChecked("there is no way to see what the native of a plane holds")
        require_same([values], seen, f"only plane {index} was kept, and its bytes changed")


@rule(
    "3.3",
    "what a mapping made outlives the source",
    means="dropping a tensor frees memory that its mapping, or an array of that, still reads",
    do="the native object keeps its memory alive by itself: it holds the source's native, or the "
    "Storage that connect() returns, whose keep= is then the owner of the memory",
)
def mapping_outlives_its_source(subject: MappingSubject, access: Access) -> None:
    """Drop everything except an array, or the native object; its bytes must stay."""
    if access == "w" and subject.transfer is not Transfer.COPY:
        raise NotChecked('it serves access "w" alone, which leaves undefined what is read')
    for survivor in ("array", "native object"):
        item = subject.item()
        values = subject.source.write(item, 9)
        item.flush()
        mapped = subject.map(item, access)
        kind: type[Item] = Frame if isinstance(item, Frame) else Tensor
        kept: Any = subject.target.views(mapped) if survivor == "array" else mapped.native
        if kept is None:
            continue
        del item, mapped
        gc.collect(1)  # what was made a moment ago
        others = _take_freed_memory(subject.item, subject.source.write)
        if survivor == "array":
            found: list[Array] | None = [np.array(view) for view in kept]
        else:
            found = subject.target.read_native(kept, kind)
        del others
        if found is not None:
            require_same(values, found, f"only its {survivor} is left, and the bytes changed")


@rule(
    "2.4",
    "the source closes when nothing maps it any more",
    means="memory that was mapped once is never given back",
    do="hold the source only through the Storage or the native object that connect() returns",
)
def source_closes_after_its_mapping(subject: MappingSubject, access: Access) -> None:
    """Close the mapping, then the source."""
    item = subject.item()
    values = subject.source.write(item, 5)
    mapped = subject.map(item, access)
    mapped.close()
    if not mapped.closed:
        raise BrokenRule("close() of the mapping did not close it")
    if access != "w":
        seen = subject.source.read(item)
        require_same(values, seen, "close() of the mapping changed the source")
    _close(item, "the mapping is closed and dropped, and still holds the source")


@rule(
    "2.6",
    "two mappings of one source close in any order",
    means="closing one mapping takes the memory from the users of another",
    do="what ends with a mapping is its own; what mappings share (an import, a pin) is a Storage "
    "that each of them holds",
)
def mappings_close_in_any_order(subject: MappingSubject, access: Access) -> None:
    """Map twice, close the first or the second, and look at the other one and the source."""
    for which in (0, 1):
        item = subject.item()
        values = subject.source.write(item, 5)
        mapped = [subject.map(item, access), subject.map(item, access)]
        closing = f"the {('first', 'second')[which]} of two mappings was closed"
        _close(mapped.pop(which), f"{closing}, and is still held")
        (other,) = mapped
        if other.closed:
            raise BrokenRule(f"{closing}, and the other one is closed as well")
        if access != "w":
            found = subject.target.read(other)
            require_same(values, found, f"{closing}, and the other one held other bytes")
        mapped.clear()
        _close(other, f"{closing}, then the other one, which is still held")
        if access != "w":
            found = subject.source.read(item)
            require_same(values, found, f"{closing}, then the other one, and the source changed")
        _close(item, f"{closing}, then the other one, and the source is still held")


def _close(item: Item, otherwise: str) -> None:
    if item.close() is False:
        raise BrokenRule(otherwise)


def _view(views: Any, index: int) -> Array:
    if views is None:
        raise NotChecked("its elements cannot be seen in place")
    view: Array = views[index]
    return view


def _ref(storage: Storage) -> weakref.ref[Storage] | None:
    """A weak reference to a storage that releases something; None for any other."""
    return weakref.ref(storage) if storage.release is not None else None


def _is_made(storage: Storage, mapped: Item) -> bool:
    return any(storage is made for made in mapped._made)


def _take_freed_memory(
    make: Callable[[], Item], write: Callable[[Item, int], object]
) -> list[Item]:
    """Make and write objects that take freed memory, and return them."""
    others: list[Item] = []
    with suppress(NotChecked, SamebytesError):  # as many as there is room for
        for _ in range(_OTHERS):
            others.append(make())
            write(others[-1], 200)
    return others
