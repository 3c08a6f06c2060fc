# SPDX-License-Identifier: Apache-2.0
"""CPU memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._api import frame, tensor
from .._routing.contexts import context
from ..benchmarks import Ways, along

__all__ = ["copied_frame", "copied_tensor", "from_array", "identity"]


def picture(width: int, height: int) -> np.ndarray[Any, Any]:
    """An array of a picture's size."""
    return np.ones((height, width, 3), np.uint8)


def identity(width: int, height: int) -> Ways:
    """To where it is already."""
    array = picture(width, height)
    made = tensor(array)
    return Ways(ours=lambda: made.map("cpu", "rw"), by_hand=array.view, copying=array.copy)


def from_array(width: int, height: int) -> Ways:
    """What is given back by close()."""
    array = picture(width, height)
    return Ways(ours=lambda: tensor(array), by_hand=array.view, copying=array.copy)


def copied_tensor(width: int, height: int) -> Ways:
    """Into dense pages of its own; a dense tensor is not copied."""
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
