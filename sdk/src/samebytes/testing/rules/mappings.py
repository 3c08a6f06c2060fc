# SPDX-License-Identifier: Apache-2.0
"""Rules for the effect of a mapping on the bytes: it shares them, or copies and counts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ..._core.edges.edge import Access, Transfer
from ..._core.memory.frame import Frame
from ..._stats import reset_stats, stats
from ...errors import NoRouteError
from .book import BrokenRule, NotChecked, rule
from .subjects import Item, MappingSubject, planes_of, require_same, same

__all__ = [
    "copies_are_copies", "each_plane_is_published", "edge_takes_something", "same_bytes",
    "writes_to_the_mapping_show", "writes_to_the_source_show",
]  # fmt: skip


@rule(
    "5.4",
    "an edge takes some object",
    means="the edge is in the tables, and no route can use it",
    do="connect() returns (native, TensorInfo or None, Storage or None); to refuse an "
    'object, it raises Refused("why")',
)
def edge_takes_something(candidates: Iterable[Item], take: Callable[[Item], object]) -> None:
    """Offer objects to an edge until it takes one.

    Raises:
        NotChecked: it refuses all.
    """
    reasons = []
    for item in candidates:
        try:
            take(item)
        except NoRouteError as error:
            reasons.append("; ".join(error.reasons))
            continue
        return
    raise NotChecked(f"it refuses what can be made here: {' | '.join(dict.fromkeys(reasons))}")


@rule(
    "1.1",
    "both sides have the same bytes",
    means="users pay for a copy that nobody counts, or read what others do not write",
    do="make the target's object over the source's pointer or handle, with its layout: strides and "
    "offset as the source has them; an edge that makes new memory declares Transfer.COPY",
)
def same_bytes(subject: MappingSubject, access: Access) -> str:
    """Map without a copy; for an ALIAS, compare addresses and layouts."""
    item = subject.item()
    values = subject.source.write(item, 1)
    reset_stats()
    mapped = subject.map(item, access)
    if stats().copies:
        raise BrokenRule(f'access "{access}": a copy was counted on an edge that declares none')
    if subject.source.direct and subject.target.direct:
        _compare_layouts(subject, item, mapped)
    seen = _compare_addresses(subject, item, mapped, access)
    if access != "w":
        require_same(
            values, subject.target.read(mapped), f'access "{access}": the target reads other bytes'
        )
    return seen


def _compare_layouts(subject: MappingSubject, item: Item, mapped: Item) -> None:
    ours, theirs = subject.source.views(item) or (), subject.target.views(mapped) or ()
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise BrokenRule(
                f"plane {number} is {a.dtype}{list(a.shape)} in the source and "
                f"{b.dtype}{list(b.shape)} in the target"
            )
        if subject.transfer is Transfer.ALIAS and a.strides != b.strides:
            raise BrokenRule(
                f"the strides of plane {number} are {a.strides} in the source and {b.strides} in "
                "the target"
            )


def _compare_addresses(subject: MappingSubject, item: Item, mapped: Item, access: Access) -> str:
    here, there = subject.source.views(item), subject.target.views(mapped)
    if subject.transfer is not Transfer.ALIAS or here is None or there is None:
        return "by writing on one side and reading on the other"
    for number, (ours, theirs) in enumerate(zip(here, there, strict=True)):
        where = subject.source.address(ours), subject.target.address(theirs)
        if where[0] != where[1]:
            raise BrokenRule(
                f'access "{access}": it declares ALIAS, and the first element of plane {number} '
                f"is at {where[0]:#x} in the source and at {where[1]:#x} in the target"
            )
    return "equal pointers, and writes seen on the other side"


@rule(
    "1.2",
    "what is written to the source shows in the mapping",
    means="a mapping shows old values: it is a copy under another name",
    do="import the source's handle instead of copying from it; or declare Transfer.MAP, where the "
    "driver moves the bytes, or Transfer.COPY",
)
def writes_to_the_source_show(subject: MappingSubject, access: Access) -> None:
    """Write before mapping and, if the memory is shared, afterwards too."""
    item = subject.item()
    before = subject.source.write(item, 1)
    mapped = subject.map(item, access)
    otherwise = f'access "{access}": the target reads other bytes'
    require_same(before, subject.target.read(mapped), otherwise)
    if subject.transfer in (Transfer.ALIAS, Transfer.IMPORT):
        after = subject.source.write(item, 60)
        otherwise = f'access "{access}": what is written to the source later is not seen'
        require_same(after, subject.target.read(mapped), otherwise)


@rule(
    "1.3",
    "what is written to the mapping is in the source",
    means="what users compute is lost",
    do="write back what was written when the mapping is flushed and when it ends: "
    'Storage(release=, flush=); an edge that copies and does not do so declares access=("r",)',
)
def writes_to_the_mapping_show(subject: MappingSubject, access: Access) -> None:
    """Write through a mapping, and publish it."""
    item = subject.item()
    subject.source.write(item, 90)
    mapped = subject.map(item, access)
    ends = f"{item.context.node} -> {mapped.context.node}"
    values = subject.target.write(mapped, 2)
    mapped.flush()
    if not subject.source.direct:  # a second mapping may have to wait for the first
        mapped.close()
    made = f"copy {ends}" if subject.transfer is Transfer.COPY else "mapping"
    otherwise = f'access "{access}": what is written to the {made} is not in the source'
    require_same(values, subject.source.read(item), otherwise)


@rule(
    "1.4",
    "a copy is a copy, and counted",
    means="samebytes.stats() hides what a pipeline costs, or writes reach the source",
    do="new memory with the same elements; if it is the same memory, declare Transfer.ALIAS",
)
def copies_are_copies(subject: MappingSubject, access: Access) -> str:
    """See that the bytes are copied, and that the core counted the copy."""
    item = subject.item()
    values = subject.source.write(item, 1)
    reset_stats()
    mapped = subject.map(item, access)
    counted = stats().copies
    if counted == 0:
        raise BrokenRule("no copy was counted")
    if access != "w":
        read = subject.target.read
        require_same(values, read(mapped), f'access "{access}": the copy has other elements')
        if same(subject.source.write(item, 60), read(mapped)):
            raise BrokenRule(
                f'access "{access}": what is written to the source later shows in what should be '
                "a copy"
            )
    return f"{counted} counted"


@rule(
    "1.5",
    "flush() and wait() of a plane reach that plane",
    means="chroma is old: only luma is published",
    do="give each plane the Storage whose flush= and wait= are for its own memory: "
    "joint_owner(storages)",
)
def each_plane_is_published(subject: MappingSubject, access: Access) -> None:
    """Write to each plane of a mapped frame in turn, and publish that plane alone."""
    for index in range(len(planes_of(subject.item()))):
        item = subject.item()
        before = subject.source.write(item, 90)
        mapped = subject.map(item, access)
        assert isinstance(mapped, Frame)
        views = subject.target.views(mapped)
        if views is None:
            written = subject.target.write(mapped.planes[index], 5 + index)[0]
        else:
            written = (np.asarray(before[index]).reshape(views[index].shape) // 2).copy()
            views[index][...] = written
        del views
        mapped.planes[index].wait()
        mapped.planes[index].flush()
        seen = subject.source.read(item)[index]
        require_same([written], [seen], f"plane {index} was flushed, and the source has old values")
