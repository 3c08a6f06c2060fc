# SPDX-License-Identifier: Apache-2.0
"""Test cases, each a TensorInfo or an ImageInfo, and the objects made from them."""

from __future__ import annotations

from typing import Any

from samebytes import Frame, ImageInfo, Tensor, TensorInfo

from ._guard import GuardedMemory
from ._memory import Memory

__all__ = ["Case", "allocate", "guarded", "item_of", "native_of"]

Case = TensorInfo | ImageInfo


def native_of(memory: Memory, case: Case) -> Any:
    """A new native object."""
    return memory.make(case) if isinstance(case, TensorInfo) else memory.make_frame(case)


def item_of(memory: Memory, case: Case, native: Any = None) -> Tensor | Frame:
    """A tensor or a frame, as the case demands, over `native` or a new native object."""
    if native is None:
        native = native_of(memory, case)
    return memory.tensor(native) if isinstance(case, TensorInfo) else memory.frame(native, case)


def allocate(memory: Memory, case: Case) -> Tensor | Frame:
    """A tensor or frame in memory that the context allocates."""
    context = memory.context()
    if isinstance(case, TensorInfo):
        return context.allocate(case.shape, case.dtype)
    return context.allocate_frame(case.format, case.width, case.height)


def guarded(memory: Memory, case: Case) -> tuple[GuardedMemory | None, Any]:
    """Guarded memory (None if the framework cannot use foreign memory) and a native object."""
    guard = GuardedMemory()
    if isinstance(case, TensorInfo):
        if type(memory).over is Memory.over:
            return None, memory.make(case)
        return guard, memory.over(*guard.arrays([case]))
    if type(memory).frame_over is Memory.frame_over:
        return None, memory.make_frame(case)
    layouts = [TensorInfo(p.dtype, p.shape, p.strides) for p in case.plane_layouts()]
    return guard, memory.frame_over(guard.arrays(layouts), case)
