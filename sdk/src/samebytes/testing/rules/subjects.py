# SPDX-License-Identifier: Apache-2.0
"""The subjects of rules: memory, and mappings between two memories, as each caller sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..._core.edges.context import Context
from ..._core.edges.edge import Access, Transfer
from ..._core.memory.frame import Frame
from ..._core.memory.tensor import Tensor
from .book import BrokenRule

__all__ = [
    "Array",
    "Contents",
    "Item",
    "MappingSubject",
    "MemorySubject",
    "planes_of",
    "require_same",
    "same",
]  # fmt: skip

Array = np.ndarray[Any, Any]
Item = Tensor | Frame


class Contents(Protocol):
    """The means of reading and writing the elements of objects of one memory type.

    Attributes:
        direct: True if these are the framework's own: they show the shapes that the format gives
            the elements, and work while mappings of the memory are alive.
    """

    @property
    def direct(self) -> bool:
        """See above."""

    def views(self, item: Item) -> Sequence[Array] | None:
        """The elements in place, plane by plane; None where they cannot be seen in place."""

    def read(self, item: Item) -> list[Array]:
        """Copies of the elements, plane by plane.

        Raises:
            NotChecked: there is no way to see them.
        """

    def read_native(self, native: Any, item: type[Item]) -> list[Array] | None:
        """Copies of the elements of a native object alone, that of a Tensor or a Frame."""

    def write(self, item: Item, seed: int) -> list[Array]:
        """Write values that differ from element to element, from plane to plane, and by seed.

        Returns:
            Copies of what was written.

        Raises:
            NotChecked: there is no way to write them.
        """

    def address(self, view: Array) -> int:
        """The place where a view begins: equal for two views if and only if both begin there."""


class MemorySubject(Protocol):
    """Memory that a context allocates."""

    @property
    def context(self) -> Context:
        """The context."""

    @property
    def contents(self) -> Contents:
        """The means of reading and writing the memory."""

    def allocate(self) -> Item:
        """A new tensor or frame, always of the same layout."""

    def holders(self, item: Item) -> Sequence[Callable[[], Any]]:
        """Functions that hold its memory, plane by plane, in ways that close() must notice.

        Each returns the holder: a view of elements, or any other object.
        """


class MappingSubject(Protocol):
    """A mapping from one memory to another, for objects of one layout."""

    @property
    def source(self) -> Contents:
        """The means of reading and writing the source."""

    @property
    def target(self) -> Contents:
        """The means of reading and writing the target."""

    @property
    def transfer(self) -> Transfer:
        """The effect of the mapping on the bytes."""

    def item(self) -> Item:
        """A new source object."""

    def map(self, item: Item, access: Access) -> Item:
        """The mapping; with a copy if its transfer is one."""


def planes_of(item: Item) -> tuple[Tensor, ...]:
    """The planes of a frame, or the tensor itself."""
    return item.planes if isinstance(item, Frame) else (item,)


def same(ours: Sequence[Array], theirs: Sequence[Array]) -> bool:
    """True if the elements are the same, plane by plane, whatever their shapes."""
    pairs = zip(ours, theirs, strict=True)
    return all(
        a.size == b.size and np.array_equal(a.reshape(-1), b.reshape(-1).astype(a.dtype))
        for a, b in ((np.asarray(a), np.asarray(b)) for a, b in pairs)
    )


def require_same(ours: Sequence[Array], theirs: Sequence[Array], otherwise: str) -> None:
    """Require that the elements are the same.

    Raises:
        BrokenRule: they are not.
    """
    if not same(ours, theirs):
        raise BrokenRule(otherwise)
