# SPDX-License-Identifier: Apache-2.0
"""The description of a memory type for the suites: its capabilities and its framework's view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
import pytest

import samebytes
from samebytes import Context, Frame, ImageInfo, Tensor, TensorInfo

from ._device_view import DeviceView
from ._devices import has_device, missing_device
from ._layouts import Layouts, array_of
from .rules.regions import sliced

__all__ = [
    "ArrayMemory", "DeviceMemory", "Memory", "address_of", "fill", "fill_each", "views_of",
]  # fmt: skip

_BETWEEN_PLANES = 83


def address_of(array: np.ndarray[Any, Any]) -> int:
    """The address of the first element.

    Args:
        array: a numpy array.
    """
    return int(array.__array_interface__["data"][0])


def fill(view: np.ndarray[Any, Any], seed: int) -> np.ndarray[Any, Any]:
    """Write values that depend on position and `seed`, and return a copy of them.

    Two seeds that differ by less than 251 give different values in every element.

    Args:
        view: the array to write to.
        seed: an integer of at least 0.
    """
    values = (np.arange(view.size) + seed) % (2 if view.dtype == np.bool_ else 251)
    view[...] = values.reshape(view.shape).astype(view.dtype)
    return view.copy()


def fill_each(views: Sequence[np.ndarray[Any, Any]], seed: int) -> list[np.ndarray[Any, Any]]:
    """`fill` each view with values of its own, so that swapped planes show; return copies."""
    return [fill(view, seed + _BETWEEN_PLANES * n) for n, view in enumerate(views)]


class Memory:
    """One memory type, as its own framework shows it. Authors of backends subclass it.

    The class attributes declare its capabilities, and the suites check either answer: a declared
    capability must work, and one that is declared missing must be refused by the right error of
    samebytes.

    The suites compare samebytes with what the methods return, so no method may go through
    samebytes, except `context`, `tensor` and `frame`.

    Class attributes:
        memory_type: its name.
        node: its name in routes, if that is not the memory type ("openvino:GPU").
        device: the kind of device that it needs, as for `missing_device`; without such a device,
            its tests are skipped.
        host_visible: True if the CPU can read it in place.
        dlpack_device: the DLDeviceType (dlpack.h) that tensors have as DLPack producers: 1, the
            CPU, by default. Memory that the CPU cannot read exports nothing, unless another type
            is given here.
        readonly_enforced: True if `view` of a mapping with access "r" cannot be written.
        allocates, allocates_frames: True if its context's allocate() and allocate_frame() work.
        pool: how many natives from allocate() can be in use at once; None if only the amount of
            memory limits it.
        opaque: True if it has no linear layout (images, tiled surfaces): strides are None.
        layouts: which odd layouts natives over given arrays can have (needs `over`).
        dtypes: the element types that it has, among those of numpy; None if not declared.
        formats: the image formats that its frames have; None if not declared.
        natives_hold: True if a native object holds the storage of its memory. False if the
            framework's own objects keep the memory and samebytes makes no storage for it: then
            close() returns None, and the memory ends with the last native.
        fork_safe: True if a process made by os.fork() may read and drop the objects that it
            inherits. If False, the child only ends, since drivers do not work there.
    """

    memory_type: ClassVar[str]
    node: ClassVar[str] = ""
    device: ClassVar[str] = ""
    host_visible: ClassVar[bool] = True
    dlpack_device: ClassVar[int] = 1
    readonly_enforced: ClassVar[bool] = True
    allocates: ClassVar[bool] = False
    allocates_frames: ClassVar[bool] = False
    pool: ClassVar[int | None] = None
    opaque: ClassVar[bool] = False
    layouts: ClassVar[Layouts] = Layouts()
    dtypes: ClassVar[tuple[str, ...] | None] = None
    formats: ClassVar[tuple[str, ...] | None] = None
    natives_hold: ClassVar[bool] = True
    fork_safe: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "node" not in vars(cls) and "memory_type" in vars(cls):
            cls.node = cls.memory_type

    def need(self) -> None:
        """Skip the test if something that it needs is missing, by default the `device`.

        Override it for other requirements, such as a package: `pytest.importorskip`.
        """
        if self.device and not has_device(self.node):
            pytest.skip(missing_device(self.device))

    def make(self, info: TensorInfo) -> Any:
        """A new writable native tensor of that layout.

        Args:
            info: dtype, shape and strides.
        """
        return self.over(array_of(info))

    def make_readonly(self, info: TensorInfo) -> Any:
        """A new native tensor that cannot be written.

        Do not override it if the framework has no read-only tensors.

        Args:
            info: dtype, shape and strides.
        """
        raise NotImplementedError

    def over(self, array: np.ndarray[Any, Any]) -> Any:
        """A native tensor over the memory of `array`, which it keeps alive.

        If the framework cannot use foreign memory, override `make` instead.

        Args:
            array: a numpy array.

        Raises:
            LayoutError: the framework itself cannot take that layout.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither make nor over")

    def view(self, native: Any) -> np.ndarray[Any, Any]:
        """The elements of a native tensor, in place, by the framework's own means.

        The array keeps the native alive.

        Args:
            native: the framework's own object.
        """
        raise NotImplementedError

    def region(self, native: Any, begin: int, end: int) -> Any:
        """Rows `begin` to `end` of a native tensor, as the framework's own object of that type.

        By default, native[begin:end] if natives can be sliced. None if the framework has no
        regions.

        Args:
            native: the framework's own object.
            begin: the first row.
            end: the row after the last.
        """
        return sliced(native, begin, end)

    def make_frame(self, image: ImageInfo) -> Any:
        """A new writable native frame.

        Args:
            image: the format and size.
        """
        layouts = image.plane_layouts()
        return self.frame_over(
            [array_of(TensorInfo(p.dtype, p.shape, p.strides)) for p in layouts], image
        )

    def frame_over(self, arrays: Sequence[np.ndarray[Any, Any]], image: ImageInfo) -> Any:
        """A native frame over those planes, which it keeps alive.

        If the framework cannot use foreign memory, override `make_frame` instead.

        Args:
            arrays: one for each plane.
            image: the format and size.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither make_frame nor frame_over")

    def views(self, native: Any) -> tuple[np.ndarray[Any, Any], ...]:
        """The planes of a native frame, in place, in the shapes that the format gives them.

        Args:
            native: the framework's own object.
        """
        return tuple(self.view(plane) for plane in native)

    def plane_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a plane in this memory type, from (rows, columns[, channels]).

        Args:
            shape: elements along each axis.
        """
        return shape

    def address(self, view: np.ndarray[Any, Any]) -> int:
        """The place where a view begins: equal for two views if and only if both begin there.

        Args:
            view: an array that `view` or `views` returned.
        """
        return address_of(view)

    def context(self) -> Context:
        """The context. If the node has several devices, override it to choose one: "toy:1"."""
        return samebytes.context(self.node)

    def tensor(self, native: Any) -> Tensor:
        """The tensor over a native tensor.

        Args:
            native: the framework's own object.
        """
        return samebytes.tensor(native)

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        """The frame over a native frame; `image` is for frameworks whose frames do not have it.

        Args:
            native: the framework's own object.
            image: the format and size.
        """
        del image
        return samebytes.frame(native)

    def queue(self) -> Any:
        """A queue for `map(queue=)`, or None."""
        return None

    def native_counts(self) -> Mapping[str, int]:
        """The number of living native objects, by kind, as the framework counts them.

        The checks for leaks compare the numbers before and after. Descriptors, storages and
        Python's objects are counted in any case.
        """
        return {}


class ArrayMemory(Memory):
    """A memory type whose native tensors are numpy arrays; by default, "cpu"."""

    memory_type = "cpu"
    allocates = True
    allocates_frames = True

    def over(self, array: np.ndarray[Any, Any]) -> Any:
        """The array."""
        return array

    def make_readonly(self, info: TensorInfo) -> Any:
        """An array that cannot be written."""
        array = array_of(info)
        array.flags.writeable = False
        return self.over(array)

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


class DeviceMemory(Memory):
    """Memory that the CPU cannot read in place: device memory, tiled surfaces.

    Override `make`, and `layout`, `read` and `write` instead of `view`; for frames also
    `make_frame`, and `planes` if the framework has frame objects.
    """

    host_visible = False
    readonly_enforced = False

    def layout(self, native: Any) -> TensorInfo:
        """dtype and shape of a native tensor, or of an object from `planes`.

        Args:
            native: the framework's own object.
        """
        raise NotImplementedError

    def read(self, native: Any) -> np.ndarray[Any, Any]:
        """A copy of the elements, complete when this returns.

        Args:
            native: the framework's own object.
        """
        raise NotImplementedError

    def write(self, native: Any, values: np.ndarray[Any, Any]) -> None:
        """Set all elements; the write is complete when this returns.

        Args:
            native: the framework's own object.
            values: an array of the shape and dtype of the native.
        """
        raise NotImplementedError

    def planes(self, native: Any) -> Sequence[Any]:
        """The objects that `layout`, `read` and `write` take for the planes of a native frame.

        Args:
            native: the framework's own object.
        """
        return cast("Sequence[Any]", native)

    def handle_of(self, native: Any) -> int:
        """The handle of the memory, or its address: equal for two natives over the same memory.

        Args:
            native: the framework's own object.
        """
        raise NotImplementedError

    def view(self, native: Any) -> np.ndarray[Any, Any]:
        """A `DeviceView`, which the suites use as an array."""
        return cast("np.ndarray[Any, Any]", DeviceView(self, native))

    def views(self, native: Any) -> tuple[np.ndarray[Any, Any], ...]:
        """A `DeviceView` of each plane."""
        return tuple(self.view(plane) for plane in self.planes(native))

    def address(self, view: np.ndarray[Any, Any]) -> int:
        """The handle of the memory that is viewed."""
        assert isinstance(view, DeviceView)
        return self.handle_of(view.native)


def views_of(memory: Memory, item: Tensor | Frame) -> tuple[np.ndarray[Any, Any], ...]:
    """The elements of a tensor, or of each plane of a frame, by the framework's own means."""
    return memory.views(item.native) if isinstance(item, Frame) else (memory.view(item.native),)
