# SPDX-License-Identifier: Apache-2.0
"""A framework of two classes, and a backend for it that can have one fault at a time."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from samebytes import (
    Access,
    Context,
    Frame,
    FrameMeta,
    ImageFormat,
    ImageInfo,
    MemoryMapper,
    Storage,
    Tensor,
    TensorInfo,
)
from samebytes.errors import LayoutError
from samebytes.plugins import HostContext, Refused, intern, joint_owner

if TYPE_CHECKING:
    from typing import Self

FAULT = os.environ.get("TOY_FAULT", "none")

Array = np.ndarray[Any, Any]
leaked: list[Any] = []
open_chips = 0


class Buffer:
    """The framework's tensor: an array in row-major order."""

    def __init__(self, array: Array, whole: Buffer | None = None) -> None:
        self.array = array
        self.whole = whole
        if FAULT == "a cycle":
            self.me = self

    def __getitem__(self, rows: slice) -> Buffer:
        """A region."""
        return Buffer(self.array[rows], self)

    if FAULT == "an error at exit":

        def __del__(self) -> None:
            if sys.is_finalizing():
                raise RuntimeError("a fault")


class Chip:
    """Memory of a device: it is read and written as a whole, and given back by hand."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        global open_chips  # noqa: PLW0603 - the framework's own count
        open_chips += 1
        nbytes = max(int(np.prod(shape)) * np.dtype(dtype).itemsize, 1)
        # Shared with forked children, as a device is.
        self.cells = np.ndarray(shape, dtype, mmap.mmap(-1, nbytes))
        self.keep: object = None  # its memory ends with the last of both

    def read(self) -> Array:
        return self.cells.copy()

    def write(self, values: Array) -> None:
        self.cells[...] = values


def give_back(cells: Array) -> None:
    """Give the memory of a Chip back: this must be done once for each Chip."""
    global open_chips  # noqa: PLW0603 - the framework's own count
    cells[...] = 0
    open_chips -= 1


class ToyTensor(Tensor):
    """A tensor over a Buffer."""

    __slots__ = ()

    @classmethod
    def wrap(cls, native: Any) -> Self:
        return cls.borrowed(native, TOY, readonly=not native.array.flags.writeable)

    def host_array(self) -> Array:
        array: Array = self.native.array
        if FAULT == "a region read from the start" and self.native.whole is not None:
            return self.native.whole.array[: len(array)]  # type: ignore[no-any-return]
        return array


class ToyContext(HostContext):
    """The context of Buffers."""

    memory_type = "toy"
    node = "toy"
    tensor_class = ToyTensor

    @classmethod
    def create(cls, device: str | None, parent: object) -> Self:
        super().create(device, None)
        return TOY  # type: ignore[return-value]  # the singleton is of this very class

    def readonly_native(self, native: Any) -> Any:
        view = native.array.view()
        view.flags.writeable = False
        return Buffer(view)

    if "overlap" in FAULT:

        def allocate_frame(self, format: Any, width: int, height: int) -> Any:
            image = ImageInfo(ImageFormat.of(format), width, height)
            layouts = image.packed_layouts()
            pages = mmap.mmap(-1, sum(p.span for p in layouts))
            storage = Storage(
                pages.close, address=ctypes.addressof(ctypes.c_char.from_buffer(pages)),
                nbytes=len(pages),
            )  # fmt: skip
            narrow = 2 if FAULT == "rows that overlap" else 1
            natives = tuple(
                Buffer(
                    np.ndarray(
                        p.shape, p.dtype, np.asarray(storage),
                        0 if FAULT == "planes that overlap" else p.offset,
                        (p.strides[0] // narrow, *p.strides[1:]),
                    )
                )
                for p in layouts
            )  # fmt: skip
            return Frame.owned(natives, self, FrameMeta(image), storage)


TOY = ToyContext()


clock = count()
slots = 128 if FAULT == "a slot of a pool that is given back at once" else 8
pool = [mmap.mmap(-1, 1 << 16) for _ in range(slots)] if "pool" in FAULT else []


class ChipTensor(Tensor):
    """A tensor over a Chip."""

    __slots__ = ()

    @classmethod
    def wrap(cls, native: Any) -> Self:
        context: Any = intern(ChipContext())
        return cls.borrowed(native, context)

    def _describe(self) -> TensorInfo:
        return TensorInfo(self.native.cells.dtype, self.native.cells.shape)

    def _handle(self, key: str) -> int | None:
        return id(self.native.cells) if key == "data" else None


class ChipContext(Context):
    """The context of Chips, one for each device."""

    memory_type = "chip"
    node = "chip"
    tensor_class = ChipTensor

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        context = cls()
        if FAULT == "a context leak":
            leaked.append(context)
        return context

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> Tensor:
        chip, storage = new_chip(TensorInfo(dtype, shape))
        return ChipTensor.owned(chip, self, storage)


def chip_names() -> tuple[str, ...]:
    """The devices, which are alike."""
    return "1", "2"


def new_chip(info: TensorInfo) -> tuple[Chip, Storage]:
    if info.dtype.numpy is None:
        raise LayoutError(f"a Chip has no elements of {info.dtype}")
    chip = Chip(info.shape, info.dtype.carrier)
    if FAULT == "a slot of a pool that is given back at once":  # the last of a long queue
        pages = pool[next(clock) % len(pool)]
        chip.cells = np.ndarray(info.shape, info.dtype.carrier, pages)
        chip.keep = storage = Storage(partial(give_back, np.zeros(0)), at_exit=True)
        return chip, storage
    if FAULT == "a slot of a pool that is taken again":
        pages = pool[next(clock) % len(pool)]
        chip.cells = np.ndarray(info.shape, info.dtype.carrier, pages)
        return chip, Storage(lambda: None)
    release = partial(give_back, chip.cells)
    storage = Storage(release, at_exit=FAULT != "a release in a forked child")
    chip.keep = storage
    if FAULT == "a release that fires twice":
        chip.too = Storage(release, at_exit=True)  # type: ignore[attr-defined]
    return chip, storage


class CpuToToy(MemoryMapper):
    """cpu -> toy, in place if all is well."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        array = item.native
        if FAULT == "a mistake in each mapping":
            raise NameError("name 'Bufer' is not defined")
        if not array.flags.c_contiguous:
            raise Refused("a Buffer has no gaps")
        if FAULT == "a silent copy":
            array = array.copy()
        if FAULT == "memory that is not kept":
            held = (ctypes.c_char * array.nbytes).from_address(item.handle("data"))
            array = np.frombuffer(held, array.dtype).reshape(array.shape)
        if FAULT != "read-only memory made writable":
            array = array.view()
            array.flags.writeable = access != "r" and array.flags.writeable
        if FAULT == "uint8 for bool" and item.dtype.name == "bool":
            array = array.view(np.uint8)
        if FAULT == "float16 for bfloat16" and item.dtype.name == "bfloat16":
            array = array.view(np.float16)
        if FAULT == "foreign byte order" and array.itemsize == 8:
            array = array.view(array.dtype.newbyteorder())
        native = Buffer(array)
        if FAULT == "a leak":
            leaked.append(native)
        # An array does not say that it carries bfloat16.
        info = item.info if item.dtype.numpy is None or FAULT == "uint8 for bool" else None
        if FAULT == "a wrong layout":
            return Buffer(array[::-1]), info, None
        return native, info, None


class SwappedToToy(MemoryMapper):
    """cpu -> toy for frames, with u and v in each other's places."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, None]:
        arrays = [plane.native.view() for plane in item.planes]
        for array in arrays:
            array.flags.writeable = access != "r" and array.flags.writeable
        return tuple(Buffer(a) for a in (*arrays[:-2], *arrays[:-3:-1])), None, None


class PlanesToToy(MemoryMapper):
    """cpu -> toy for frames, as a driver maps them: each plane in memory of its own."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage]:
        natives, storages = [], []
        for number, plane in enumerate(item.planes):
            array = plane.host_array()
            pages = mmap.mmap(-1, array.nbytes)
            if number and FAULT == "a plane that is not kept":
                leaked.append(pages)  # as a driver has them: others get them next
            back = partial(put_back, array, pages) if access != "r" else None
            flush = back
            if number and FAULT == "a flush of the first plane alone":
                flush = None
            end = partial(end_plane, back, pages)
            if FAULT == "a plane that ends with other mappings":
                over = mapped_over.setdefault(array.__array_interface__["data"][0], [])
                over.append(pages)
                end = partial(end_planes, end, over)
            address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
            storage = Storage(end, address=address, nbytes=array.nbytes, flush=flush)
            holder: Any = np.asarray(storage)
            if number and FAULT == "a plane that is not kept":
                holder = (ctypes.c_char * array.nbytes).from_address(address)
            mine = np.ndarray(array.shape, array.dtype, holder)
            mine[...] = array
            mine.flags.writeable = access != "r"
            natives.append(Buffer(mine))
            storages.append(storage)
        return tuple(natives), None, joint_owner(storages)


mapped_over: dict[int, list[mmap.mmap]] = {}


def end_planes(end: Any, over: list[mmap.mmap]) -> None:
    """End one mapping, and all others of the same memory, as a driver that goes by its address."""
    end()
    for pages in over:
        end_plane(None, pages)


def put_back(array: Array, pages: mmap.mmap) -> None:
    """Publish what was written to a plane."""
    array[...] = np.ndarray(array.shape, array.dtype, pages)


def end_plane(back: Any, pages: mmap.mmap) -> None:
    """Publish it, and let others have the pages."""
    if back is not None:
        back()
    np.ndarray(len(pages), np.uint8, pages)[...] = 200


class CpuToChip(MemoryMapper):
    """cpu -> chip, by a copy."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        try:
            chip, storage = new_chip(item.info)
        except LayoutError as error:
            raise Refused(str(error)) from None
        chip.write(item.host_array())
        return chip, None, storage


class ChipToCpu(MemoryMapper):
    """chip -> cpu, by a copy."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        array = item.native.read()
        array.flags.writeable = False
        return array, None, None
