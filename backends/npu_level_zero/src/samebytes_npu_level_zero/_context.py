# SPDX-License-Identifier: Apache-2.0
"""LevelZeroContext: the context in which USM is allocated, wrapped and imported."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsIndex

from samebytes import Context, Fd, Frame, FrameMeta, ImageFormat, ImageInfo, Storage, TensorInfo
from samebytes.errors import LayoutError, NoRouteError, UnknownNameError
from samebytes.plugins import ContextRegistry, intern, memory_size, native_pointer

from ._abi.constants import ExternalMemoryType
from ._allocation import Allocation, new_memory
from ._devices import DeviceEntry, choose, entries, entry_of
from ._foreign import LAST_ADDRESS, foreign_allocation
from ._import_cache import Imports
from ._imports import import_fd, import_nt_handle
from ._loader import Library, load
from ._native_context import NativeContext
from ._pointer import USMPointer, check_fits, whole
from ._properties import DeviceMemory, device_memory, external_types, maps_pages
from ._tensor import LevelZeroTensor
from ._usm import AllocationProperties, Kind, export_descriptor, inspect, kind_of

if TYPE_CHECKING:
    from typing import Self, Unpack

    from samebytes.plugins import FrameSays

__all__ = ["LevelZeroContext"]


class LevelZeroContext(Context[LevelZeroTensor]):
    """A Level Zero context on one device: `samebytes.context("level_zero")`, "level_zero:NPU" ...

    Handles: "ze_context", "ze_device", "ze_driver". The ze_context_handle_t that this class made
    is destroyed after the last memory that was allocated in it.

    Attributes:
        imports: the memory that was imported here, for this package's edges.
    """

    memory_type = "level_zero"
    node = "level_zero"
    tensor_class = LevelZeroTensor
    primary_handle = "usm_ptr"

    def __init__(self, native: NativeContext, parent: Context | None = None) -> None:
        entry = native.entry
        handles = {
            "ze_driver": entry.driver,
            "ze_device": entry.handle,
            "ze_context": native.handle,
        }
        super().__init__(entry.device, handles=handles, parent=parent)
        self._native = native
        # For this package's edges.
        self.imports = Imports()

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The context on a device, or the one that shares the ze_context of `parent`.

        Raises:
            MissingDependencyError: no loader, no driver, or no permission to use the device.
            UnknownNameError: no such device.
            AmbiguousTargetError: several devices answer to the name.
            NoRouteError: `parent` has no ze_context.
        """
        library = load()
        if parent is not None:
            return cls._derived(library, device, parent)
        entry = choose(entries(library), device)
        return _own.find_or_make(  # type: ignore[return-value]  # of the class in the key
            (cls, entry.handle), partial(cls._make, library, entry)
        )

    @classmethod
    def from_handles(
        cls, *, ze_context: Any, ze_device: Any, ze_driver: Any = None, keep: object = None
    ) -> Self:
        """The context over a ze_context_handle_t that the application made, and destroys.

        Args:
            ze_context: a context of a driver that the loader of this process opened, which cannot
                be checked. This and the other handles are ints, `ctypes.c_void_p` or PyCapsules.
            ze_device: one of its devices, or a sub-device.
            ze_driver: if given, the device must be of this driver.
            keep: an object to hold as long as memory of this context is in use, for instance the
                one that destroys the native context. If it holds such memory itself, close that:
                the garbage collector cannot, since it must not destroy a context before its memory.

        Raises:
            LayoutError: a handle is null.
            UnsupportedObjectError: one is not a handle.
            UnknownNameError: no driver has such a device.
        """
        context, device = _handle("ze_context", ze_context), _handle("ze_device", ze_device)
        driver = None if ze_driver is None else _handle("ze_driver", ze_driver)
        library = load()
        entry = entry_of(library, device)
        if entry is None or driver not in (None, entry.driver):
            known = (f"{e.handle:#x}" for e in entries(library))
            whose = "" if driver is None else f" of ze_driver {driver:#x}"
            raise UnknownNameError(f"ze_device{whose}", f"{device:#x}", known)
        return cls._borrowed(library, entry, context, keep)

    @classmethod
    def _derived(cls, library: Library, device: str | None, parent: Context) -> Self:
        handle = parent.find_handle("ze_context")
        if handle is None:
            raise NoRouteError(
                parent.node, "level_zero", ["it has no ze_context: it is not on Level Zero"]
            )
        found = entries(library)
        candidates = [e for e in found if e.device.kind == parent.device.kind]
        if len(candidates) > 1:
            candidates = [e for e in candidates if e.device.same(parent.device) is not False]
        return cls._borrowed(library, choose(candidates, device), handle, parent, parent)

    @classmethod
    def _borrowed(
        cls, library: Library, entry: DeviceEntry, handle: int, keep: object,
        parent: Context | None = None,
    ) -> Self:  # fmt: skip
        return intern(cls(NativeContext.borrow(library, entry, handle, keep), parent))

    @classmethod
    def _make(cls, library: Library, entry: DeviceEntry) -> Self:
        return cls(NativeContext.create(library, entry))

    def allocate(
        self,
        shape: Sequence[int],
        dtype: Any = "uint8",
        kind: Kind = "host",
        *,
        exportable: bool = False,
        alignment: int = mmap.PAGESIZE,
    ) -> LevelZeroTensor:
        """New USM, owned by the tensor that is returned. Its contents are undefined.

        Args:
            shape: elements along each axis.
            dtype: the element type.
            kind: "host" (the CPU's memory, which the device reads), "shared" (both read it; the
                driver may move it) or "device" (only the device reads it).
            exportable: True to make memory that can be shared as a DMA-BUF, and so with other
                frameworks, devices and processes. Drivers export no other memory.
            alignment: the alignment of the first byte, a power of two; 0 for the driver's choice.

        The size in memory is rounded up to whole pages, as importers want it.

        Raises:
            LayoutError: a negative extent, more than the device allocates, or an alignment that
                is not a power of two.
            UnknownNameError: no such dtype or kind.
            LevelZeroError: the driver refuses, for instance because memory is short.
        """
        info = TensorInfo(dtype, shape)
        return self._owned(*self._allocate(info.nbytes, kind, exportable, alignment), 0, info)

    def allocate_frame(
        self,
        format: str | ImageFormat,
        width: int,
        height: int,
        kind: Kind = "host",
        *,
        exportable: bool = False,
        **says: Unpack[FrameSays],
    ) -> Frame[LevelZeroTensor]:
        """A new image in one piece of USM, planes one after another without gaps.

        Args:
            kind: "host", "shared" or "device".
            exportable: True if `export_fd()` is to be able to share it.
            says: `pts`, `time_base`, `duration` and `metadata`, as for `samebytes.frame`.

        Raises:
            LayoutError: a size that the format cannot have.
            UnknownNameError: no such format or kind.
            LevelZeroError: the driver refuses.
        """
        image = ImageInfo(ImageFormat.of(format), width, height)
        allocation, storage = self._allocate(image.nbytes, kind, exportable, mmap.PAGESIZE)
        self.imports.note(storage, allocation)
        native = tuple(
            self._pointer(
                allocation,
                storage,
                plane.offset,
                TensorInfo(plane.dtype, plane.shape, plane.strides),
            )
            for plane in image.packed_layouts()
        )
        return Frame.owned(native, self, FrameMeta(image), storage)

    def wrap_pointer(
        self,
        pointer: Any,
        shape: Sequence[int],
        dtype: Any = "uint8",
        *,
        offset: int = 0,
        strides: Sequence[int] | None = None,
        keep: object = None,
    ) -> LevelZeroTensor:
        """A tensor over USM of the application, which frees it after the last use.

        Args:
            pointer: a pointer into memory that was allocated in this context: an int, a
                `ctypes.c_void_p` or a PyCapsule.
            shape, dtype, strides: the layout; strides in bytes, dense by default.
            offset: from `pointer` to the first element, in bytes.
            keep: an object to hold as long as the memory is in use, for instance the one that frees
                it.

        The driver is asked about the first and the last byte. It does not report the size of an
        allocation, so nothing else is checked.

        Raises:
            LayoutError: the pointer is not USM of this context, was freed, or the memory ends
                before the array does.
            UnsupportedObjectError: `pointer` is not a pointer.
        """
        self.check_open()
        info = TensorInfo(dtype, shape, strides)
        start = whole(offset, "offset")
        address = native_pointer(pointer, "a USM pointer")
        allocation = foreign_allocation(self.native_context(), address, info, start)
        storage = self.imports.note(allocation.storage(keep), allocation)
        native = self._pointer(allocation, storage, start, info)
        return LevelZeroTensor.borrowed(native, self, keep=storage, info=info)

    def import_fd(
        self,
        fd: SupportsIndex | Fd,
        shape: Sequence[int],
        dtype: Any = "uint8",
        *,
        offset: int = 0,
        strides: Sequence[int] | None = None,
    ) -> LevelZeroTensor:
        """A tensor over the memory of a DMA-BUF, as host USM.

        Args:
            fd: the descriptor of a DMA-BUF of any exporter (Vulkan, V4L2, DRM ...). It stays the
                caller's, and may be closed at once: the import holds the memory.
            shape, dtype, strides: the layout; strides in bytes, dense by default.
            offset: from the start of the memory to the first element, in bytes.

        Raises:
            LayoutError: the descriptor is not open, has no size, or is too small.
            LevelZeroError: the driver does not take it.
        """
        self.check_open()
        native = self.native_context()
        info = TensorInfo(dtype, shape, strides)
        number = fd.fileno() if isinstance(fd, Fd) else whole(fd, "file descriptor")
        start, nbytes = whole(offset, "offset"), memory_size(number)
        check_fits(info, start, nbytes, f"file descriptor {number}")
        with Fd.borrow(number) as borrowed:
            made = import_fd(native, borrowed, nbytes)
        return self._owned(*made, start, info)

    def import_nt_handle(
        self,
        handle: int,
        nbytes: int,
        shape: Sequence[int],
        dtype: Any = "uint8",
        *,
        offset: int = 0,
        strides: Sequence[int] | None = None,
    ) -> LevelZeroTensor:
        """A tensor over the memory of an NT handle, as device USM. On Windows only.

        Args:
            handle: the handle of the memory, which stays the caller's.
            nbytes: the memory's size in bytes, which Windows does not report.
            shape, dtype, offset, strides: as for `import_fd`.

        Raises:
            UnsupportedObjectError: this is not Windows.
            LayoutError: a null handle, or an array that does not fit.
            LevelZeroError: the driver does not take it.
        """
        self.check_open()
        native = self.native_context()
        info = TensorInfo(dtype, shape, strides)
        start, number = whole(offset, "offset"), whole(handle, "NT handle")
        check_fits(info, start, whole(nbytes, "size"), f"NT handle {number:#x}")
        return self._owned(*import_nt_handle(native, number, nbytes), start, info)

    def inspect(self, pointer: Any) -> AllocationProperties | None:
        """The driver's report on a pointer; None if it is not USM of this context.

        Args:
            pointer: any address, as for `wrap_pointer`; nothing is taken over.

        Raises:
            UnsupportedObjectError: it is not a pointer.
        """
        native, address = self.native_context(), native_pointer(pointer, "a USM pointer")
        return inspect(native, address) if 0 < address <= LAST_ADDRESS else None

    def device_memory(self) -> tuple[DeviceMemory, ...]:
        """The memories of the device, with their sizes."""
        native = self.native_context()
        return device_memory(native.library, native.entry.handle)

    def import_types(self) -> ExternalMemoryType:
        """The kinds of handle that the device imports as memory."""
        native = self.native_context()
        return external_types(native.library, native.entry.handle)[0]

    def export_types(self) -> ExternalMemoryType:
        """The kinds of handle as which the device exports memory."""
        native = self.native_context()
        return external_types(native.library, native.entry.handle)[1]

    def readonly_native(self, native: USMPointer) -> USMPointer:
        """The same pointer with its flag set. Level Zero has no read-only memory."""
        return native.as_readonly()

    def maps_pages(self) -> bool:
        """True if the driver imports pages of the application's own memory."""
        native = self.native_context()
        return maps_pages(native.library, native.entry.driver)

    def _allocate(
        self, nbytes: int, kind: Kind, exportable: bool, alignment: int
    ) -> tuple[Allocation, Storage]:
        native, type_ = self.native_context(), kind_of(kind)
        size = max(-(-nbytes // mmap.PAGESIZE), 1) * mmap.PAGESIZE
        export = export_descriptor() if exportable else None
        return new_memory(native, size, type_, alignment, export)

    def _pointer(
        self, allocation: Allocation, storage: Storage, offset: int, info: TensorInfo
    ) -> USMPointer:
        return USMPointer(self, allocation, allocation.address + offset, info, storage)

    def _owned(
        self, allocation: Allocation, storage: Storage, offset: int, info: TensorInfo
    ) -> LevelZeroTensor:
        self.imports.note(storage, allocation)
        native = self._pointer(allocation, storage, offset, info)
        return LevelZeroTensor.owned(native, self, storage, info=info)

    def native_context(self) -> NativeContext:
        """The native context, for this package."""
        return self._native


# Our own contexts, by class and ze_device_handle_t.
_own: ContextRegistry[LevelZeroContext] = ContextRegistry()


def _handle(name: str, given: Any) -> int:
    handle = native_pointer(given, name)
    if not 0 < handle <= LAST_ADDRESS:
        raise LayoutError(f"{name} {handle:#x} is not a handle")
    return handle
