# SPDX-License-Identifier: Apache-2.0
"""The checks of a device: what is written on one side is read on the other, in place.

They know memory types and routes alone, so they are those of every plugin. A check returns how it
passed, or raises what refused it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._api import context
from .._core.edges.context import Context
from .._core.edges.edge import Transfer
from .._core.memory.frame import Frame
from .._plugins.discovery import listed
from .._routing.route import route
from .._stats import stats
from ..errors import (
    CopyRequiredError,
    NoRouteError,
    NotHostVisibleError,
    UnsupportedObjectError,
)

__all__ = ["NotOfferedError", "WrongBytesError", "checks_of", "device_nodes", "opened", "run_check"]

_IN_PLACE = "in place"
_COPIED = "with a copy"
_UNSEEN = "mapped, not seen by the CPU"
_SHAPE = (48, 256)
_FRAME = ("NV12", 256, 64)
_NOT_IN_PLACE = (CopyRequiredError, NoRouteError, NotHostVisibleError)


class WrongBytesError(Exception):
    """Bytes read are not those that were written, or were copied."""


class NotOfferedError(Exception):
    """The memory type has no such thing: it allocates none, or its contexts come from elsewhere."""


def device_nodes(plugins: Iterable[str] = ()) -> list[str]:
    """The nodes that may be of devices: those of all plugins, or of these, but not the CPU's."""
    wanted = set(plugins)
    owners = listed().owner_of_node
    return [n for n, owner in owners.items() if owner != "cpu" and (not wanted or owner in wanted)]


def checks_of(node: str) -> list[str]:
    """The checks of a node: "memory", "frame", "from cpu", "to NODE" by edges that do not copy."""
    usable = [e.spec for e in listed().edges if e.missing is None]
    edges = [spec for spec in usable if spec.transfer is not Transfer.COPY]
    targets = dict.fromkeys(s.target for s in edges if s.source == node and s.target != "cpu")
    into = ["from cpu"] if any((s.source, s.target) == ("cpu", node) for s in edges) else []
    return ["memory", "frame", *into, *(f"to {target}" for target in targets)]


def opened(node: str) -> Context:
    """The context of a node.

    Raises:
        NotOfferedError: it comes with an object or from another context, and not by its name.
    """
    try:
        return context(node)
    except UnsupportedObjectError as error:
        raise NotOfferedError from error


def run_check(node: str, check: str) -> str:
    """Run one check of a node; how it passed.

    Raises:
        WrongBytesError: it did not pass.
        NotOfferedError: the memory type has no such thing.
        Exception: what refused it.
    """
    where = opened(node)
    if check in ("memory", "frame"):
        return _visited(_allocated(where, frames=check == "frame"))
    if check == "from cpu":
        return _lent(where)
    return _mapped(where, check.removeprefix("to "))


def _visited(item: Any) -> str:
    """Write by one mapping on the CPU and read by another."""
    try:
        with item.map("cpu", "w") as view:
            _fill(view, 1)
    except _NOT_IN_PLACE:
        return _there_and_back(item)
    with item.map("cpu") as view:
        _compare(view, 1)
    return _IN_PLACE


def _there_and_back(item: Any) -> str:
    """Copy a pattern to the device and back, for memory that the CPU cannot see."""
    host = context("cpu")
    plain = _allocated(host, frames=isinstance(item, Frame))
    _fill(plain, 2)
    with plain.map(item.context, copy=True) as there, there.map("cpu", copy=True) as back:
        _compare(back, 2)
    return _COPIED


def _lent(where: Context) -> str:
    """Lend an array's memory to the device, and read there what the CPU writes."""
    plain = context("cpu").allocate(_SHAPE)
    with _without_copies(), plain.map(where, "rw") as there:
        return _shared(there, plain)


def _mapped(where: Context, target: str) -> str:
    """Map the device's memory to another memory type, and see there what was written here."""
    levels = {e.spec.level for e in listed().edges if e.spec.name == f"{where.node} -> {target}"}
    try:
        item = _allocated(where, frames="tensor" not in levels)
    except NotOfferedError:
        if levels != {"tensor", "frame"}:
            raise
        item = _allocated(where, frames=True)
    way = route(item, target, access="r")
    with _without_copies(), way.map(item) as there:
        return _shared(item, there)


def _shared(written: Any, read: Any) -> str:
    """Write on one side and read on the other, as far as the CPU can see both."""
    try:
        with written.map("cpu", "w") as view:
            _fill(view, 3)
        with read.map("cpu") as view:
            _compare(view, 3)
    except _NOT_IN_PLACE:
        return _UNSEEN
    return _IN_PLACE


def _allocated(where: Context, *, frames: bool) -> Any:
    try:
        return where.allocate_frame(*_FRAME) if frames else where.allocate(_SHAPE)
    except UnsupportedObjectError as error:
        raise NotOfferedError from error


@contextmanager
def _without_copies() -> Iterator[None]:
    """Fail if bytes are copied within the block."""
    before = stats().copies
    yield
    if stats().copies != before:
        raise WrongBytesError("it was copied")


def _arrays(item: Any) -> list[np.ndarray[Any, Any]]:
    """The bytes of a tensor, or of a frame's planes, that is on the CPU."""
    return [part.native for part in (item if isinstance(item, Frame) else [item])]


def _pattern(array: np.ndarray[Any, Any], seed: int) -> np.ndarray[Any, Any]:
    made: np.ndarray[Any, Any] = (np.arange(array.size) * 7 + seed) % 251
    return made.reshape(array.shape)


def _fill(item: Any, seed: int) -> None:
    for array in _arrays(item):
        array[...] = _pattern(array, seed)


def _compare(item: Any, seed: int) -> None:
    for array in _arrays(item):
        if not np.array_equal(array, _pattern(array, seed)):
            raise WrongBytesError("the bytes are not those that were written")
