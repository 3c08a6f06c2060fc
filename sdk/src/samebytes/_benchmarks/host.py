# SPDX-License-Identifier: Apache-2.0
"""CPU memory."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._api import frame, tensor
from .._core.edges.edge import Access
from .._core.memory.tensor import Tensor
from .._routing.contexts import context
from ..benchmarks import Ways, along

__all__ = ["Least", "copied_frame", "copied_tensor", "from_array", "identity", "identity_r"]


class Least:
    """The least that map() can do: a look-up, a call, and an object with a tensor's slots."""

    __slots__ = ("_made", "_owner", "context", "known_info", "native", "parent", "readonly")

    def __init__(
        self,
        native: Any,
        context: Any,
        owner: Any,
        parent: Any,
        readonly: bool,
        info: Any = None,
        made: tuple[Any, ...] = (),
    ) -> None:
        self.native = native
        self.context = context
        self._owner = owner
        self.parent = parent
        self.readonly = readonly
        self.known_info = info
        self._made = made

    # Tensor.map itself, so that only the functions that it calls differ.
    map: Any = Tensor.map

    @classmethod
    def over(cls, native: Any) -> Least:
        """An object that can be mapped to "cpu"."""

        def again(source: Least) -> Least:
            native, where, owner = source.native, source.context, source._owner
            return Least(native, where, owner, source, False, source.known_info)

        routes = {("cpu", access): again for access in ("r", "rw")}
        return cls(native, SimpleNamespace(tensor_routes=routes), native, None, False)


def picture(width: int, height: int) -> np.ndarray[Any, Any]:
    """An array of a picture's size."""
    return np.ones((height, width, 3), np.uint8)


def _identity(access: Access, width: int, height: int) -> Ways:
    """A mapping to the same place. A read-only result has an array of its own."""
    array = picture(width, height)
    made, least = tensor(array), Least.over(array)
    return Ways(
        ours=lambda: made.map("cpu", access),
        by_hand=lambda: least.map("cpu", access),
        copying=array.copy,
    )


identity = partial(_identity, "rw")
identity_r = partial(_identity, "r")


def from_array(width: int, height: int) -> Ways:
    """A tensor over an array, against a view of the array."""
    array = picture(width, height)
    return Ways(ours=lambda: tensor(array), by_hand=array.view, copying=array.copy)


def copied_tensor(width: int, height: int) -> Ways:
    """A copy into dense pages of its own; a dense tensor would not be copied."""
    array, cpu = picture(width + 1, height)[:, :width], context("cpu")
    made = tensor(array)
    go = along("cpu -> cpu tensor copy", made, cpu)
    return Ways(ours=lambda: go(made), by_hand=array.copy)


def copied_frame(width: int, height: int) -> Ways:
    """The same for a frame."""
    cpu = context("cpu")
    planes = [
        np.ones((height, width + 64), np.uint8)[:, :width],
        np.ones((height // 2, width // 2 + 32, 2), np.uint8)[:, : width // 2],
    ]
    made = frame(planes, format="NV12", width=width, height=height)
    go = along("cpu -> cpu frame copy", made, cpu)
    return Ways(ours=lambda: go(made), by_hand=lambda: [plane.copy() for plane in planes])
