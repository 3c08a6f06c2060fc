# SPDX-License-Identifier: Apache-2.0
"""Contexts, tensors and frames to try a plugin on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..._core.edges.context import Context
from ..._core.edges.edge import MapperSpec
from ..._core.memory.frame import Frame
from ..._core.memory.tensor import Tensor
from ..._cpu.context import wrap_array
from ..._cpu.frame import frame_of_arrays
from ..._plugins.loading import call, load
from ..._plugins.specs import ContextSpec
from ..._routing.contexts import context, find_spec
from ...errors import (
    PluginConflictError,
    PluginLoadError,
    RouteError,
    SamebytesError,
    UnknownNameError,
    UnsupportedObjectError,
)
from ...testing.rules import NotChecked
from ...testing.rules.contents import SAMEBYTES
from ...testing.rules.regions import sliced
from ...testing.rules.subjects import Array, Item, planes_of

__all__ = [
    "IMAGES",
    "SIDE",
    "Allocated",
    "Regions",
    "context_of",
    "contexts_of",
    "frame_in",
    "items",
    "readonly_tensor",
]

# One page, and shapes that some frameworks insist on.
_TENSORS = (((64, 64), "uint8"), ((1, 64, 64, 3), "uint8"), ((1, 3, 64, 64), "float32"))
IMAGES = ("NV12", "BGR", "I420", "GRAY8", "RGBA")
SIDE = 64


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
        cases = tuple((name, SIDE, SIDE) for name in spec.formats or IMAGES)
    reasons: list[str] = []
    made = False
    if source is target and source.node == "cpu":  # the edge that makes memory dense
        yield _with_gaps(frames)
        return
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


def frame_in(source: Context, format_: str) -> Frame:
    """A writable frame of `source`, in memory of its own or of the CPU."""
    try:
        return source.allocate_frame(format_, SIDE, SIDE)
    except SamebytesError:
        return context("cpu").allocate_frame(format_, SIDE, SIDE).map(source, "rw")


def readonly_tensor(made: Tensor) -> Tensor:
    """A tensor over the native of `made` as its framework has it read-only.

    Raises:
        NotChecked: it has no such thing, or natives of it cannot be wrapped.
    """
    from ... import tensor

    native = made.context.readonly_native(made.native)
    if native is made.native:
        raise NotChecked("its framework has no read-only natives")
    try:
        return tensor(native)
    except SamebytesError as error:
        raise NotChecked(f"its natives cannot be wrapped: {error}") from error


def _with_gaps(frames: bool) -> Item:
    array = np.zeros((SIDE, 2 * SIDE), np.uint8)[:, :SIDE]
    return frame_of_arrays(array, "GRAY8", None, None, None) if frames else wrap_array(array)


def _made(place: Context, source: Context, case: Any, frames: bool) -> Item:
    """An object of `source`, whose memory was allocated in `place`."""
    item: Item = place.allocate_frame(*case) if frames else place.allocate(*case)
    return item if place is source else item.map(source, "rw")


class Allocated:
    """Memory that a context allocates, for the rules of the book.

    Args:
        make: what allocates.
    """

    contents = SAMEBYTES

    def __init__(self, context: Context, make: Callable[[], Item]) -> None:
        self.context = context
        self.allocate = make

    def holders(self, item: Item) -> list[Callable[[], Any]]:
        """A part of each array; where the CPU cannot see it, the storage.

        Raises:
            NotChecked: there is no storage: its framework counts who holds it.
        """
        if not any(plane.storage.release for plane in planes_of(item)):
            raise NotChecked("its framework counts who holds the memory")
        if SAMEBYTES.views(item) is None:
            return [lambda: item.storage]
        return [partial(_part, item, index) for index in range(len(planes_of(item)))]


def _part(item: Item, index: int) -> Array:
    return planes_of(item)[index].host_array()[1:]


class Regions:
    """Rows of native tensors, where these can be sliced as sequences are.

    Args:
        make: what makes a new tensor.
    """

    contents = SAMEBYTES

    def __init__(self, make: Callable[[], Tensor]) -> None:
        self.item = make

    def region(self, native: Any, begin: int, end: int) -> Any:
        """native[begin:end]."""
        return sliced(native, begin, end)

    def tensor(self, native: Any) -> Tensor:
        """The tensor over a native one."""
        from ... import tensor

        return tensor(native)
