# SPDX-License-Identifier: Apache-2.0
"""Whether an OpenCV call wrote where it was told to."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from samebytes import Tensor
from samebytes.errors import LayoutError, UnsupportedObjectError

__all__ = ["in_place"]

_Tensor = TypeVar("_Tensor", bound=Tensor)


def in_place(result: np.ndarray[Any, Any], target: _Tensor) -> _Tensor:
    """`target`, if `result` is the memory of it: `in_place(cv2.blur(a, (3, 3), dst=t.native), t)`.

    OpenCV writes into `dst=` if its size and type fit the result. If not, it allocates in silence
    and leaves `dst` as it was.

    Args:
        result: what the call returned.
        target: the tensor whose `native` was given as `dst=`.

    Raises:
        UnsupportedObjectError: `result` is no array.
        LayoutError: the result lies elsewhere; the message says what `dst` should have been.
    """
    if not isinstance(result, np.ndarray):
        raise UnsupportedObjectError(
            f"in_place() takes the array that an OpenCV call returned, and this is "
            f"{type(result).__name__}: of a tuple, pass the array that belongs to dst="
        )
    expected = target.native
    where = (result.__array_interface__["data"][0], result.shape, result.strides, result.dtype)
    if where != (target.handle("data"), expected.shape, expected.strides, expected.dtype):
        raise LayoutError(
            f"OpenCV wrote its result into memory of its own: the result is "
            f"{result.dtype}{list(result.shape)}, dst= was {expected.dtype}{list(expected.shape)}; "
            "give it a dst= of the size and type of the result"
        )
    return target
