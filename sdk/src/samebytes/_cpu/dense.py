# SPDX-License-Identifier: Apache-2.0
"""The copy of last resort: any layout into a dense one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.access import Access
from .._core.info import TensorInfo
from .._core.mapper import MemoryMapper
from .._core.storage import Storage
from .._core.tensor import Tensor
from .context import CPU

__all__ = ["DenseCopy"]


class DenseCopy(MemoryMapper):
    """cpu -> cpu: new dense memory with the same elements."""

    __slots__ = ()

    def accepts(self, item: Tensor) -> str | None:
        """Copying what is dense already would help nobody."""
        return "it is dense already" if item.info.is_contiguous else None

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """A new array and its storage."""
        info = item.info
        copy = CPU.allocate(info.shape, info.dtype)
        np.copyto(copy.native, item.native)
        if access == "r":
            copy.native.flags.writeable = False
        lazy = copy.info if info.dtype.numpy is None else None
        return copy.native, lazy, copy.storage
