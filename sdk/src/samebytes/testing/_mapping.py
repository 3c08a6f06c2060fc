# SPDX-License-Identifier: Apache-2.0
"""The mapping that a MapperSuite tests: a route, or one edge alone."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

import samebytes
from samebytes import Access, Frame, MemoryMapper, Tensor, Transfer
from samebytes.plugins import MapperSpec

from ._cases import Case, item_of
from ._drop_orders import DropChecks
from ._memory import Memory, views_of
from ._subjects import MappingUnderTest

__all__ = ["Mapping"]


class Mapping(DropChecks):
    """The common part of all checks of a mapping.

    Class attributes:
        source, target: the two memory types.
        mapper: one edge, or None for the route that map() finds.
    """

    mapper: ClassVar[str | None] = None

    @property
    def copies(self) -> bool:
        """True if copy=True is needed."""
        return self.transfer is Transfer.COPY

    def views(self, item: Tensor | Frame) -> tuple[np.ndarray[Any, Any], ...]:
        """The elements of a source or target object, by its framework's own means."""
        return views_of(self._memory_of(item), item)

    def _memory_of(self, item: Tensor | Frame) -> Memory:
        return self.target if item.context.node == self.target.context().node else self.source

    def item(self, case: Case) -> Tensor | Frame:
        """A source object over a new native one."""
        return item_of(self.source, case)

    def map(
        self,
        item: Tensor | Frame,
        access: Access = "r",
        *,
        copy: bool | None = None,
        queue: Any = None,
    ) -> Tensor | Frame:
        """The mapping under test; if `copy` is None, it copies if its transfer is a copy."""
        if copy is None:
            copy = self.copies
        target = self.target.context()
        if self.mapper is None:
            return item.map(target, access, copy=copy, queue=queue)
        module, _, name = self.mapper.partition(":")
        edge: MemoryMapper = getattr(import_module(module), name)(
            self._spec(), item.context, target
        )
        mapped: Tensor | Frame = edge.map(item, access, copy=copy)
        return mapped

    def _spec(self) -> MapperSpec:
        """The spec with which its plugin declares `mapper`."""
        assert self.mapper is not None
        return _spec_of(self.mapper, self.source.node, self.target.node)

    def under_test(self, case: Case) -> MappingUnderTest:
        """The mapping that rules are tried on."""
        return MappingUnderTest(self, case)


@cache
def _spec_of(mapper: str, source: str, target: str) -> MapperSpec:
    # Looking up the installed plugins scans all installed packages each time.
    (spec,) = [
        edge
        for plugin in samebytes.installed_plugins()
        for edge in plugin.edges
        if edge.mapper == mapper and (edge.source, edge.target) == (source, target)
    ]
    return spec
