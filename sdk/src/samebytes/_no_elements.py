# SPDX-License-Identifier: Apache-2.0
"""The errors of a tensor that is used as if it were an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

__all__ = ["NoElements"]


class NoElements:
    """A base for objects that cannot be indexed or counted; the errors name the array that can.

    A view of the elements would need to hold the memory as the native does.
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker finds it by itself

        def __getitem__(self, _: Any) -> Any:
            raise TypeError(self._has_none("is not indexed"))

        def __setitem__(self, _: Any, value: Any) -> None:
            raise TypeError(self._has_none("is not indexed"))

        def __len__(self) -> int:
            raise TypeError(self._has_none("has no len()"))

        def __bool__(self) -> bool:
            return True  # as for any object: without this, Python would ask for its len()

    def _has_none(self: Any, what: str) -> str:
        where = self.context.node
        # A plane of FFmpeg or an openvino.Tensor is memory of the CPU, but not an array.
        is_array = isinstance(self.native, np.ndarray)
        has = "tensor.native" if is_array else 'tensor.map("cpu").native'
        return f"a tensor in {where} {what}: {has} is the array, over the same bytes"
