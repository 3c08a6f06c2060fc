# SPDX-License-Identifier: Apache-2.0
"""Elements as samebytes itself shows them: in place where the CPU can, else mapped or copied."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.memory.frame import Frame
from ..._core.native.pointers import data_address
from ...errors import NotHostVisibleError, RouteError, SamebytesError
from .book import NotChecked
from .subjects import Array, Item, planes_of

__all__ = ["SAMEBYTES", "ThroughSamebytes"]

_BETWEEN_PLANES = 83


class ThroughSamebytes:
    """`Contents` for every memory type, which notice less than a framework's own means."""

    direct = False

    def views(self, item: Item) -> list[Array] | None:
        """The arrays of the planes."""
        try:
            return [plane.host_array() for plane in planes_of(item)]
        except NotHostVisibleError:
            return None

    def read(self, item: Item) -> list[Array]:
        """Copies of the elements, read in place or from a copied mapping."""
        found = self.views(item)
        if found is None:
            try:
                mapped = item.map("cpu", copy=True)
            except RouteError as error:
                raise NotChecked(f"its bytes cannot be seen: {error}") from error
            found = [plane.host_array() for plane in planes_of(mapped)]
        return [array.copy() for array in found]

    def read_native(self, native: Any, item: type[Item]) -> list[Array] | None:
        """Copies of the elements of a native that is wrapped again; None if it cannot be."""
        from ... import frame, tensor

        parts = native if isinstance(native, tuple) else (native,)
        try:
            if isinstance(native, tuple) or not issubclass(item, Frame):
                return [self.read(tensor(part))[0] for part in parts]
            return self.read(frame(native))
        except (NotChecked, SamebytesError):
            return None

    def write(self, item: Item, seed: int) -> list[Array]:
        """Write in place or through a mapping, never by a copy."""
        found = self.views(item)
        if found is not None:
            return _fill_each(found, seed)
        try:
            with item.map("cpu", "w") as mapped:
                values = _fill_each([plane.host_array() for plane in planes_of(mapped)], seed)
        except RouteError as error:
            raise NotChecked(f"the CPU cannot write to it in place: {error}") from error
        item.wait()
        return values

    def address(self, view: Array) -> int:
        """The address of the first element."""
        return data_address(view)


SAMEBYTES = ThroughSamebytes()


def _fill_each(arrays: list[Array], seed: int) -> list[Array]:
    """Write values that differ from plane to plane, so that swapped planes show."""
    return [_fill(array, seed + _BETWEEN_PLANES * n) for n, array in enumerate(arrays)]


def _fill(array: Array, seed: int) -> Array:
    values = ((np.arange(array.size) + seed) % 251).astype(array.dtype).reshape(array.shape)
    array[...] = values
    return values
