# SPDX-License-Identifier: Apache-2.0
"""A call that goes over one edge and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.edges.context import Context
from .._core.edges.edge import Access, MapperSpec, Transfer
from .._core.edges.mapper import MemoryMapper
from .._core.memory.frame import Frame
from .._core.memory.tensor import Tensor
from .._plugins.discovery import tables
from .._plugins.loading import load_class
from .._routing.route import route
from ._spec import CannotMeasureError, edge_name

__all__ = ["along", "check_way"]


def along(
    edge: str, item: Tensor | Frame, target: Context, access: Access = "r"
) -> Callable[[Any], Any]:
    """A function that maps tensors or frames like `item` over one edge.

    It calls `map()` as users do, if that takes this edge. An edge that copies is used directly,
    since `map(copy=True)` would take one that does not copy, if there is one.

    Args:
        edge: as `edge_name` spells it.
        item: the tensor or frame that is mapped, or one of the same kind.
        target: the context that it is mapped to.
        access: the access of the mapping.

    Raises:
        CannotMeasureError: there is no such edge, or `map()` goes another way.
    """
    spec, plugin = _find(edge)
    if spec.transfer is not Transfer.COPY:
        check_way(edge, item, target, access)
        return lambda one: one.map(target, access)
    source = item.context
    mapper = load_class(spec.mapper, plugin, MemoryMapper)(spec, source, target)

    def copied(one: Any) -> Any:
        return mapper.map(one, access, copy=True)

    # A mapper holds its ends weakly.
    copied.__dict__["ends"] = (source, target)
    return copied


def check_way(edge: str, item: Tensor | Frame, target: Context | str, access: Access = "r") -> None:
    """Check that `item.map(target, access)` takes one edge and no other.

    Args:
        edge: as `edge_name` spells it.
        item, target, access: as for `map()`.

    Raises:
        CannotMeasureError: there is no such edge, or it goes another way.
    """
    spec, _ = _find(edge)
    found = route(item, target, access=access)
    if [hop.spec for hop in found.hops] != [spec]:
        raise CannotMeasureError(f"what is measured goes another way here:\n{found.explain()}")


def _find(name: str) -> tuple[MapperSpec, str]:
    for edge in tables().edges:
        if edge_name(edge.spec) == name and edge.missing is None:
            return edge.spec, edge.plugin
    raise CannotMeasureError(f"no plugin here has the edge {name}")
