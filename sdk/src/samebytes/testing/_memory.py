# SPDX-License-Identifier: Apache-2.0
"""What the suites must know of a memory type: how its own framework makes and sees objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

import samebytes
from samebytes import Context, Frame, ImageInfo, Tensor, TensorInfo

from ._layouts import array_of

__all__ = ["ArrayMemory", "Memory", "address_of", "fill", "views_of"]


def address_of(array: np.ndarray[Any, Any]) -> int:
    """The address of the first element."""
    return int(array.__array_interface__["data"][0])


def fill(view: np.ndarray[Any, Any], seed: int) -> np.ndarray[Any, Any]:
    """Write values that depend on position and `seed`; returns a copy of what `view` then holds.

    Two seeds that differ by less than 251 give different values in every element.
    """
    values = (np.arange(view.size) + seed) % (2 if view.dtype == np.bool_ else 251)
    view[...] = values.reshape(view.shape).astype(view.dtype)
    return view.copy()


class Memory:
    """One memory type, through its own framework. An author subclasses this.

    None of the methods may go through samebytes, save `tensor` and `frame`: what they show is
    what samebytes is compared with.

    Class attributes:
        memory_type: its name.
        host_visible: the CPU reads it where it lies.
        readonly_enforced: `view` of what was mapped with access "r" cannot be written.
        allocates, allocates_frames: its context's allocate() and allocate_frame() work.
    """

    memory_type: ClassVar[str]
    host_visible: ClassVar[bool] = True
    readonly_enforced: ClassVar[bool] = True
    allocates: ClassVar[bool] = False
    allocates_frames: ClassVar[bool] = False

    def make(self, info: TensorInfo) -> Any:
        """A new writable native tensor of that layout."""
        return self.over(array_of(info))

    def over(self, array: np.ndarray[Any, Any]) -> Any:
        """A native tensor over the memory of `array`, which it keeps alive.

        Leave it where the framework cannot use foreign memory, and override `make`.
        """
        raise NotImplementedError

    def view(self, native: Any) -> np.ndarray[Any, Any]:
        """The elements of a native tensor, in place, by the framework's own means."""
        raise NotImplementedError

    def make_frame(self, image: ImageInfo) -> Any:
        """A new writable native frame."""
        layouts = image.plane_layouts()
        return self.frame_over(
            [array_of(TensorInfo(p.dtype, p.shape, p.strides)) for p in layouts], image
        )

    def frame_over(self, arrays: Sequence[np.ndarray[Any, Any]], image: ImageInfo) -> Any:
        """A native frame over those planes, which it keeps alive.

        Leave it where the framework has no frames: they are tuples of native tensors then.
        """
        raise NotImplementedError

    def views(self, native: Any) -> tuple[np.ndarray[Any, Any], ...]:
        """The planes of a native frame, in place, by the framework's own means."""
        return tuple(self.view(plane) for plane in native)

    def context(self) -> Context:
        """The context."""
        return samebytes.context(self.memory_type)

    def tensor(self, native: Any) -> Tensor:
        """The tensor over a native tensor."""
        return samebytes.tensor(native)

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        """The frame over a native frame; `image` is for frameworks whose frames do not say."""
        del image
        return samebytes.frame(native)


class ArrayMemory(Memory):
    """Memory types whose native tensors are numpy arrays; as it is, that of "cpu"."""

    memory_type = "cpu"
    allocates = True
    allocates_frames = True

    def over(self, array: np.ndarray[Any, Any]) -> Any:
        """The array."""
        return array

    def view(self, native: Any) -> np.ndarray[Any, Any]:
        """The array."""
        return np.asarray(native)

    def frame_over(self, arrays: Sequence[np.ndarray[Any, Any]], image: ImageInfo) -> Any:
        """The arrays."""
        return tuple(self.over(a) for a in arrays)

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        """The frame of that format over the arrays, in this memory type."""
        made = samebytes.frame(native, format=image.format, width=image.width, height=image.height)
        return made if self.memory_type == "cpu" else made.map(self.memory_type, "rw")


def views_of(memory: Memory, item: Tensor | Frame) -> tuple[np.ndarray[Any, Any], ...]:
    """The elements of a tensor, or of each plane of a frame, by the framework's own means."""
    return memory.views(item.native) if isinstance(item, Frame) else (memory.view(item.native),)
