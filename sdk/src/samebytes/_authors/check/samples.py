# SPDX-License-Identifier: Apache-2.0
"""Tensors and frames to try a plugin on, and their bytes as the CPU sees them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._core.context import Context
from ..._core.edge import MapperSpec
from ..._core.frame import Frame
from ..._core.tensor import Tensor
from ..._plugins.loading import call, load
from ..._plugins.specs import ContextSpec
from ..._routing.contexts import context, find_spec
from ..._routing.route import route
from ...errors import (
    BusyError,
    NotHostVisibleError,
    PluginConflictError,
    PluginLoadError,
    RouteError,
    SamebytesError,
    UnknownNameError,
    UnsupportedObjectError,
)
from .reporting import BrokenRule, NotChecked

__all__ = [
    "Array",
    "Item",
    "context_of",
    "contexts_of",
    "hosts",
    "items",
    "planes",
    "read",
    "write",
]

Array = np.ndarray[Any, Any]
Item = Tensor | Frame

# One page, and shapes that some frameworks insist on.
_TENSORS = (((64, 64), "uint8"), ((1, 64, 64, 3), "uint8"), ((1, 3, 64, 64), "float32"))
_IMAGES = ("NV12", "BGR", "I420", "GRAY8", "RGBA")
_SIDE = 64


def context_of(spec: ContextSpec, plugin: str) -> Context:
    """A context of that node, on the first device.

    Raises:
        NotChecked: this machine has none.
    """
    name = spec.node
    if spec.devices is not None:
        names = tuple(call(load(spec.devices, plugin), plugin))
        if not names:
            raise NotChecked(f"this machine has no device of {spec.node}")
        name = f"{spec.node.partition(':')[0]}:{names[0]}"
    try:
        return context(name)
    except (PluginLoadError, PluginConflictError):
        raise
    except SamebytesError as error:  # MissingDependencyError, for one
        raise NotChecked(f"no {name} context can be made here: {error}") from error


def contexts_of(edge: MapperSpec, plugin: str) -> tuple[Context, Context]:
    """Contexts for both ends of an edge, one derived from the other where that can be.

    Raises:
        NotChecked: there is no such node, or no such device here.
    """
    try:
        (source, _), (target, _) = find_spec(edge.source), find_spec(edge.target)
        if target.node in source.derives_from:
            end = context_of(target, plugin)
            return end.derive(source.node), end
        start = context_of(source, plugin)
        if source.node in target.derives_from:
            return start, start.derive(target.node)
        return start, context_of(target, plugin)
    except SamebytesError as error:
        raise NotChecked(str(error)) from error


def items(source: Context, target: Context, spec: MapperSpec) -> Iterator[Item]:
    """Writable objects of `source` that its edge may take, each made when it is asked for.

    Those at the end lie in memory of the target: some edges take nothing else.

    Raises:
        NotChecked: nothing here makes any.
    """
    frames = spec.level == "frame"
    cases: tuple[Any, ...] = _TENSORS
    if frames:
        cases = tuple((name, _SIDE, _SIDE) for name in spec.formats or _IMAGES)
    reasons: list[str] = []
    made = False
    for place in (source, context("cpu"), target):
        for case in cases:
            try:
                item = _made(place, source, case, frames)
            except (RouteError, UnsupportedObjectError, UnknownNameError, ValueError) as error:
                reasons.append(str(error))
                continue
            made = True
            yield item
    if not made:
        raise NotChecked(
            f"nothing here makes {spec.level}s of {source.node} to try it on: {reasons[0]}"
        )


def _made(place: Context, source: Context, case: Any, frames: bool) -> Item:
    """An object of `source`, whose memory was allocated in `place`."""
    item: Item = place.allocate_frame(*case) if frames else place.allocate(*case)
    return item if place is source else item.map(source, "rw")


def planes(item: Item) -> tuple[Tensor, ...]:
    """The planes of a frame; a tensor itself."""
    return item.planes if isinstance(item, Frame) else (item,)


def hosts(item: Item) -> list[Array] | None:
    """The bytes in place, one array for each plane; None where the CPU cannot read them there."""
    try:
        return [plane.host_array() for plane in planes(item)]
    except NotHostVisibleError:
        return None


def read(item: Item) -> list[Array]:
    """Copies of the elements, plane by plane, in a row.

    Raises:
        NotChecked: no way leads to the CPU.
    """
    found = hosts(item)
    if found is None:
        try:
            mapped = item.map("cpu", copy=True)
        except RouteError as error:
            raise NotChecked(f"its bytes cannot be seen: {error}") from error
        found = [plane.host_array() for plane in planes(mapped)]
    return [array.reshape(-1).copy() for array in found]


def write(item: Item, seed: int) -> list[Array]:
    """Write values that depend on `seed` to an object; copies of them, plane by plane.

    Raises:
        NotChecked: no way leads there that does not copy.
    """
    found = hosts(item)
    if found is not None:
        return [_fill(array, seed) for array in found]
    try:
        with item.map("cpu", "w") as mapped:
            values = [_fill(plane.host_array(), seed) for plane in planes(mapped)]
    except RouteError as error:
        raise NotChecked(f"the CPU cannot write to it in place: {error}") from error
    except BusyError as error:
        way = route(item, "cpu", access="w")
        raise BrokenRule(f"a mapping for writing cannot be closed: {way.explain()}") from error
    item.wait()
    return values


def _fill(array: Array, seed: int) -> Array:
    values = ((np.arange(array.size) + seed) % 251).astype(array.dtype)
    array[...] = values.reshape(array.shape)
    return values
