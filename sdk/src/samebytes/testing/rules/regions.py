# SPDX-License-Identifier: Apache-2.0
"""Rules for regions of native objects: mapped exactly, or refused by name."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..._core.memory.tensor import Tensor
from ...errors import SamebytesError
from .book import BrokenRule, NotChecked, rule
from .contents import SAMEBYTES
from .subjects import Array, Contents, MappingSubject, require_same

__all__ = ["RegionSubject", "regions", "regions_map", "sliced"]


class RegionSubject(Protocol):
    """Native tensors, and regions of them."""

    @property
    def contents(self) -> Contents:
        """The means of reading and writing the tensors."""

    def item(self) -> Tensor:
        """A new tensor; its first axis has three rows or more."""

    def region(self, native: Any, begin: int, end: int) -> Any:
        """Rows of a native tensor as the framework's own object; None if it has no regions.

        An exception counts as the framework's own refusal.
        """

    def tensor(self, native: Any) -> Tensor:
        """The tensor over a native one."""


def sliced(native: Any, begin: int, end: int) -> Any:
    """native[begin:end], if that is a native object of the same type; else None."""
    if not hasattr(type(native), "__getitem__"):
        return None
    part = native[begin:end]
    return part if type(part) is type(native) else None


@rule(
    "1.7",
    "a region of a native object is that region, or refused by name",
    means="users read and write the first rows of the whole object",
    do="add the region's offset to the address and take its strides; or raise LayoutError",
)
def regions(subject: RegionSubject) -> str:
    """Read and write rows of a tensor through samebytes, if its framework has regions."""
    whole = subject.item()
    values = subject.contents.write(whole, 21)[0].reshape(whole.shape)
    begin, end, part = _part(subject, whole)
    if isinstance(part, str):
        return part
    if part.shape != (end - begin, *whole.shape[1:]):
        raise BrokenRule(f"rows {begin} to {end} of {list(whole.shape)} are {list(part.shape)}")
    seen = SAMEBYTES.read(part)
    require_same([values[begin:end]], seen, f"rows {begin} to {end} read as other rows")
    if part.readonly:
        return "reads the right rows"
    try:
        values[begin:end] = SAMEBYTES.write(part, 90)[0].reshape(part.shape)
    except NotChecked:
        return "reads the right rows"
    part.flush()
    seen = subject.contents.read(whole)
    require_same([values], seen, f"writing to rows {begin} to {end} changed others")
    return "reads and writes the right rows"


@rule(
    "1.8",
    "a region maps as that region, or is refused by name",
    means="the other framework reads the first rows of the whole object",
    do="connect() uses item.handle() and item.info, not the object from which the native was made; "
    "or it raises Refused",
)
def regions_map(subject: RegionSubject, mapping: MappingSubject) -> str:
    """Map rows of a tensor, if its framework has regions and samebytes takes them."""
    whole = subject.item()
    values: Array = np.asarray(subject.contents.write(whole, 21)[0]).reshape(whole.shape)
    begin, end, part = _part(subject, whole)
    if isinstance(part, str):
        return part
    try:
        mapped = mapping.map(part, "r")
    except SamebytesError:
        return "refused"
    seen = mapping.target.read(mapped)
    require_same([values[begin:end]], seen, f"rows {begin} to {end} are mapped as other rows")
    return "maps the right rows"


def _part(subject: RegionSubject, whole: Tensor) -> tuple[int, int, Tensor | str]:
    """The rows and a tensor over them, or the reason why there is none."""
    rows = whole.shape[0] if whole.shape else 0
    begin, end = 1, rows - 1
    if begin >= end:
        return begin, end, "it has no rows before and after others"
    try:
        region = subject.region(whole.native, begin, end)
    except Exception as error:
        return begin, end, f"its framework makes no such region: {error}"
    if region is None:
        return begin, end, "its framework has no regions"
    try:
        return begin, end, subject.tensor(region)
    except SamebytesError:
        return begin, end, "regions are refused"
    except Exception as error:
        raise BrokenRule(f"a region raises {type(error).__name__}: {error}") from error
