# SPDX-License-Identifier: Apache-2.0
"""The subjects that suites try rules on: memory types as their own frameworks see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec

import numpy as np

import samebytes
from samebytes import Access, Context, Frame, Tensor, TensorInfo, Transfer

from ._cases import Case, allocate, item_of
from ._memory import Memory, fill_each, views_of
from .rules import NotChecked, Rule

__all__ = ["AllocatedMemory", "FrameworksContents", "MappingUnderTest", "Regions", "holds"]

P = ParamSpec("P")
_FEW_ROWS = 3
_ROWS = (8, 64)
_Array = np.ndarray[Any, Any]


def holds(rule: Rule[P], *args: P.args, **kwargs: P.kwargs) -> None:
    """Try a rule; pass if it cannot be tried."""
    with suppress(NotChecked):
        rule(*args, **kwargs)


class FrameworksContents:
    """`Contents` by the framework's own means."""

    direct = True

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.address = memory.address

    def views(self, item: Tensor | Frame) -> Sequence[_Array]:
        """The elements in place."""
        return views_of(self._memory, item)

    def read(self, item: Tensor | Frame) -> list[_Array]:
        """Copies of the elements."""
        return [np.array(view) for view in views_of(self._memory, item)]

    def read_native(self, native: Any, item: type[Tensor | Frame]) -> list[_Array]:
        """Copies of the elements of a native object."""
        memory = self._memory
        views = memory.views(native) if issubclass(item, Frame) else (memory.view(native),)
        return [np.array(view) for view in views]

    def write(self, item: Tensor | Frame, seed: int) -> list[_Array]:
        """Write values that differ from plane to plane."""
        return fill_each(views_of(self._memory, item), seed)


class AllocatedMemory:
    """The memory that a context allocates for one case."""

    def __init__(self, memory: Memory, case: Case) -> None:
        self._memory = memory
        self._case = case
        self.contents = FrameworksContents(memory)

    @property
    def context(self) -> Context:
        """The context."""
        return self._memory.context()

    def allocate(self) -> Tensor | Frame:
        """A new tensor or frame."""
        return allocate(self._memory, self._case)

    def holders(self, item: Tensor | Frame) -> list[Callable[[], Any]]:
        """A part of each view; where the framework counts references, only the storage."""
        if not self._memory.natives_hold:
            return [lambda: item.storage]
        number = len(item.planes) if isinstance(item, Frame) else 1
        return [partial(self._part_of_view, item, index) for index in range(number)]

    def _part_of_view(self, item: Tensor | Frame, index: int) -> Any:
        return views_of(self._memory, item)[index][1:]


class MappingUnderTest:
    """A suite's mapping for one case."""

    def __init__(self, suite: Any, case: Case) -> None:
        source, target = suite.ends()
        self._suite = suite
        self._memory = source
        self._case = case
        self.source = FrameworksContents(source)
        self.target = FrameworksContents(target)
        self.transfer: Transfer = suite.transfer

    def item(self) -> Tensor | Frame:
        """A new source object."""
        return item_of(self._memory, self._case)

    def map(self, item: Tensor | Frame, access: Access) -> Tensor | Frame:
        """The mapping."""
        mapped: Tensor | Frame = self._suite.map(item, access)
        return mapped


class Regions:
    """Native tensors of one layout, or of another if that has too few rows to leave any out."""

    def __init__(self, memory: Memory, case: TensorInfo) -> None:
        few = not case.shape or case.shape[0] < _FEW_ROWS
        self._memory = memory
        self._case = TensorInfo(case.dtype, _ROWS) if few else case
        self.contents = FrameworksContents(memory)
        self.region = memory.region
        self.tensor = samebytes.tensor  # as a user would, without a parent

    def item(self) -> Tensor:
        """A tensor over a new native tensor."""
        made = item_of(self._memory, self._case)
        assert isinstance(made, Tensor)
        return made
