# SPDX-License-Identifier: Apache-2.0
"""DLPack in both directions, each with the arguments that consumers pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._api import tensor
from ..benchmarks import Ways
from .host import picture

__all__ = ["capsule", "foreign", "to_numpy", "to_torch"]


class _Foreign:
    """An object of a library that samebytes does not know."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **asked: Any) -> Any:
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def capsule(width: int, height: int) -> Ways:
    """A capsule made with the arguments that a consumer passes."""
    array = picture(width, height)
    made = tensor(array)
    asked: Any = {"max_version": (1, 0), "dl_device": None, "copy": None}
    theirs: Any = array.__dlpack__
    return Ways(ours=lambda: made.__dlpack__(**asked), by_hand=lambda: theirs(**asked))


def to_numpy(width: int, height: int) -> Ways:
    """An array over a tensor."""
    array = picture(width, height)
    made: Any = tensor(array)
    return Ways(
        ours=lambda: np.from_dlpack(made),
        by_hand=lambda: np.from_dlpack(array),
        copying=array.copy,
    )


def to_torch(width: int, height: int) -> Ways:
    """A torch tensor over a tensor of samebytes."""
    import torch

    array = picture(width, height)
    made: Any = tensor(array)
    return Ways(
        ours=lambda: torch.from_dlpack(made),
        by_hand=lambda: torch.from_dlpack(array),
        copying=lambda: torch.tensor(array),
    )


def foreign(width: int, height: int) -> Ways:
    """A tensor of samebytes over an object of another library."""
    array = picture(width, height)
    there = _Foreign(array)
    return Ways(
        ours=lambda: tensor(there),
        by_hand=lambda: np.from_dlpack(there),
        copying=lambda: np.array(np.from_dlpack(there)),
    )
