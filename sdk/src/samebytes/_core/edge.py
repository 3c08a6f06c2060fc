# SPDX-License-Identifier: Apache-2.0
"""MapperSpec and Transfer: what a plugin declares about an edge."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

from .access import ACCESS_MODES, Access

__all__ = ["MapperSpec", "Transfer"]


class Transfer(enum.Enum):
    """The way in which an edge passes on the bytes."""

    ALIAS = "alias"
    """The same pointer."""
    IMPORT = "import"
    """The same memory under another handle."""
    MAP = "map"
    """The driver makes it host-visible; it may flush, or move bytes of its own accord."""
    COPY = "copy"
    """New memory. Only with copy=True, and counted."""


# An IMPORT costs a call into a driver, a MAP may flush caches, a COPY comes last by far.
_COSTS = {Transfer.ALIAS: 1.0, Transfer.IMPORT: 10.0, Transfer.MAP: 100.0, Transfer.COPY: 10_000.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class MapperSpec:
    """An edge between two nodes.

    Attributes:
        source, target: nodes.
        mapper: "module:Class", a MemoryMapper class.
        transfer: what it does with the bytes.
        summary: how, in half a line, for `explain`: "ROI tensors over the pitched planes".
        level: "tensor" or "frame". A tensor edge also serves frames plane by plane unless
            `per_plane` is False.
        access: the modes it can serve. Default: "r", "w" and "rw". An edge that copies serves
            ("r",) alone, unless it copies back when the mapping is published and when it ends:
            what is written to a copy does not reach the source.
        formats: names of the only image formats it takes (frames), or None for all.
        opaque: it takes tensors without a linear layout.
        cost: what the router adds up; None for the transfer's usual cost.
        only: the memory of `source` that it takes, where that is not all: "whole pages", "memory
            that is a UMat's". A route between names through it depends on the object, and says so.
        requires: plugins it needs besides its own, with versions: "openvino>=0.1,<1".
    """

    source: str
    target: str
    mapper: str
    transfer: Transfer
    summary: str
    level: Literal["tensor", "frame"] = "tensor"
    per_plane: bool = True
    access: tuple[Access, ...] = ACCESS_MODES
    formats: tuple[str, ...] | None = None
    opaque: bool = False
    cost: float | None = None
    requires: tuple[str, ...] = ()
    only: str = ""

    @property
    def name(self) -> str:
        """ "source -> target"."""
        return f"{self.source} -> {self.target}"

    @property
    def weight(self) -> float:
        """The cost the router adds up."""
        return _COSTS[self.transfer] if self.cost is None else self.cost

    def serves(self, level: str) -> bool:
        """True if the edge maps objects of that level.

        Args:
            level: "tensor" or "frame".
        """
        return self.level == level or (
            level == "frame" and self.level == "tensor" and self.per_plane
        )
