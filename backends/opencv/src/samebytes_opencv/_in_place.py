# SPDX-License-Identifier: Apache-2.0
"""in_place(): check that an OpenCV call wrote to the array it was given."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from samebytes import Tensor
from samebytes.errors import LayoutError, UnsupportedObjectError

__all__ = ["in_place"]

_Tensor = TypeVar("_Tensor", bound=Tensor)


def in_place(result: np.ndarray[Any, Any], target: _Tensor) -> _Tensor:
    """`target`, if `result` is the memory of it: `in_place(cv2.blur(a, (3, 3), dst=t.native), t)`.

    OpenCV writes into `dst=` if its size and type fit the result. If not, it allocates silently
    and leaves `dst` as it was.

    Args:
        result: the result of the call.
        target: the tensor whose `native` was passed as `dst=`.

    Raises:
        UnsupportedObjectError: `result` is not an array.
        LayoutError: the result lies elsewhere; the message describes the `dst` that was needed.
    """
    if not isinstance(result, np.ndarray):
        raise UnsupportedObjectError(
            "in_place() takes the array that an OpenCV call returned, not "
            f"{type(result).__name__}: if the call returned a tuple, pass its array for dst="
        )
    expected = target.native
    where = (result.__array_interface__["data"][0], result.shape, result.strides, result.dtype)
    if where != (target.handle("data"), expected.shape, expected.strides, expected.dtype):
        raise LayoutError(
            f"OpenCV wrote its result into its own memory: the result is "
            f"{result.dtype}{list(result.shape)}, dst= was {expected.dtype}{list(expected.shape)}; "
            "give it a dst= of the size and type of the result"
        )
    return target
