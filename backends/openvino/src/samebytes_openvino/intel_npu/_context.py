# SPDX-License-Identifier: Apache-2.0
"""ZeroContext: the Level Zero context of OpenVINO's NPU plugin."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import openvino

from samebytes import FrameMeta, ImageFormat, ImageInfo, TensorInfo
from samebytes.errors import AccessError, DeviceMismatchError, UnknownNameError
from samebytes.plugins import Context, Storage, data_address

from .._context import OPENVINO
from .._remote._context import RemoteContext
from .._remote._core import default_core
from .._remote._errors import PropertyError, naming
from .._remote._info import info_of
from .._remote._living import Living
from .._remote._tensor import pin
from .._remote._values import params_of
from .._tensor import OpenVINOTensor
from . import _checks
from ._device import NPU, default_native, device_of, memory_of
from ._host_pages import HostMemory, host_memory_of, mapped_file
from ._imports import ImportCache, Imported, holding, tensor_in
from ._kinds import FileDescriptor, MemType, TensorType
from ._memory import ZeroMemory
from ._remote_properties import as_properties, ask
from ._tensor import ZeroBufferTensor

if TYPE_CHECKING:
    from typing import Self

    from samebytes import Frame

__all__ = ["ZeroContext", "image_shape"]

_living: Living[ZeroContext] = Living()


class ZeroContext(RemoteContext):
    """The context of the NPU plugin: `samebytes.context("openvino:NPU")`.

    It wraps the plugin's own ze_context, and there is no other: the plugin ignores one that it is
    given. So there is one object, whichever openvino.Core it is asked with; a model compiled for
    "NPU", or on `native`, takes its tensors.

    Handles: "ze_context".

    Args:
        core: an openvino.Core.

    Attributes:
        memory_size: the bytes that the NPU can use.

    Raises:
        MissingDependencyError: OpenVINO finds no NPU.
    """

    node = "openvino:NPU"
    tensor_class = ZeroBufferTensor
    primary_handle = "usm_ptr"
    memory_size: int
    _imports: ImportCache

    def __new__(cls, core: Any = None) -> Self:
        core = default_core() if core is None else core
        native = default_native(core)
        handle = int(params_of(native)["L0_CONTEXT"])
        make = partial(cls._make, native, core, handle)
        return _living.find_or_make(handle, make)  # type: ignore[return-value]  # no subclasses

    def __init__(self, core: Any = None) -> None:
        """`__new__` does it, since what it gives may be in use already."""

    @classmethod
    def _make(cls, native: Any, core: Any, handle: int) -> Self:
        self = object.__new__(cls)
        RemoteContext.__init__(self, native, core, device_of(core), {"ze_context": handle})
        self.memory_size = memory_of(core)
        self._imports = ImportCache()
        return self

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The one context.

        Raises:
            MissingDependencyError: OpenVINO finds no NPU.
            UnknownNameError: another device than "NPU".
            DeviceMismatchError: the ze_context of `parent` is not the plugin's own.
        """
        context = cls()
        if device is not None and device != NPU:
            known = [NPU, *(f"{NPU}.{name}" for name in context.core.get_property(
                NPU, "AVAILABLE_DEVICES"))]  # fmt: skip
            if device not in known:
                raise UnknownNameError("device of openvino", device, known)
        if parent is not None:
            context._check_shares(parent.handle("ze_context"))
        return context

    def _check_shares(self, handle: int) -> None:
        own = self.handle("ze_context")
        if handle != own:
            raise DeviceMismatchError(
                f"ze_context {handle:#x} is not that of OpenVINO's NPU plugin, {own:#x}: the "
                "plugin ignores a ze_context that it is given. Make your memory in "
                'samebytes.context("openvino:NPU").derive("level_zero"), or hand it over as a '
                "DMA-BUF"
            )

    def get(self) -> int:
        """The ze_context_handle_t. It stays the plugin's."""
        return self.handle("ze_context")

    def create_tensor(
        self,
        type: Any,
        shape: Sequence[int],
        shared_buffer: Any = None,
        *,
        tensor_type: TensorType | str | None = None,
        mem_type: MemType | str | None = None,
    ) -> ZeroBufferTensor:
        """A remote tensor over memory that is there already, or over new memory.

        Args:
            type: an openvino.Type, or a dtype in any spelling.
            shape: elements along each axis.
            shared_buffer: a file descriptor (an int, a samebytes.Fd, an object with fileno()) of a
                DMA-BUF, or on Windows an NT handle; an address (with mem_type CPU_VA), an array, a
                tensor or another buffer on whole pages of the CPU's; a FileDescriptor; a map of
                MEM_TYPE, MEM_HANDLE, TENSOR_TYPE and FILE_DESCRIPTOR, as in C++; or None for
                memory that the plugin allocates.
            tensor_type: what it is for; INPUT for files, else BINDED.
            mem_type: what `shared_buffer` is, where its type does not say.

        A descriptor stays the caller's and may be closed at once: the driver holds the memory.
        Buffers are held by the tensor. Memory behind an address must outlive it.

        Raises:
            PropertyError: the memory is too small, not on whole pages, or cannot be imported; it
                names the property. A LayoutError.
            AccessError: memory that cannot be written, for anything but INPUT.
            UnknownNameError: no such element type, property or value.
            UnsupportedObjectError: `shared_buffer` is none of the above.
            OpenVINOError: the plugin or the driver refuses.
        """
        info, element, extents = info_of(type, shape)
        _checks.check_size(info, self.memory_size)
        asked = ask(shared_buffer, mem_type, tensor_type)
        kind, use = asked.mem_type, asked.tensor_type
        if kind is MemType.MMAPED_FILE:
            return self._file_tensor(info, asked.shared)
        nbytes, handle, readonly, keep = _checks.tensor_nbytes(info), None, False, None
        if kind is MemType.SHARED_BUF:
            handle = self._shared_handle(asked.shared, nbytes)
        elif kind is MemType.CPU_VA:
            memory = host_memory_of(asked.shared)
            _check_writable(memory, use)
            memory.check_room(nbytes)
            _checks.check_pages(memory.address, nbytes)
            handle, readonly, keep = memory.address, memory.readonly, memory.keep
        native = self._create(element, extents, as_properties(kind, use, handle))
        pin(native, Storage(keep=keep))
        storage = Storage(keep=native, nbytes=nbytes)
        return ZeroBufferTensor(native, self, storage, None, readonly, info, (storage,))

    def create_l0_host_tensor(
        self,
        type: Any,
        shape: Sequence[int],
        tensor_type: TensorType | str = TensorType.BINDED,
    ) -> ZeroBufferTensor:
        """A remote tensor over new Level Zero memory on the host. The driver cannot export it.

        Raises:
            PropertyError, UnknownNameError, OpenVINOError: as for `create_tensor`.
        """
        return self.create_tensor(type, shape, tensor_type=tensor_type)

    def create_host_tensor(self, type: Any, shape: Sequence[int]) -> OpenVINOTensor:
        """A host tensor over new Level Zero memory, which the plugin uses in place.

        It is a tensor of "openvino": its native is an ordinary openvino.Tensor.

        Raises:
            PropertyError, UnknownNameError, OpenVINOError: as for `create_tensor`.
        """
        info, element, extents = info_of(type, shape)
        _checks.check_size(info, self.memory_size)
        with naming("RemoteContext.create_host_tensor"):
            native = self.native.create_host_tensor(element, extents)
        params: dict[str, int | str] = {
            **as_properties(MemType.L0_INTERNAL_BUF, TensorType.BINDED),
            "MEM_HANDLE": data_address(native.data),
        }
        imported = Imported(native, params, _checks.tensor_nbytes(info))
        storage = holding((imported,))
        view = tensor_in(imported, storage, 0, info, False)
        return OpenVINOTensor(view, OPENVINO, storage, None, False, info, (storage,))

    def import_memory(
        self, shared_buffer: Any, *, mem_type: MemType | str | None = None
    ) -> ZeroMemory:
        """Whole memory, for tensors anywhere in it: planes at offsets, sizes that are no pages.

        Args:
            shared_buffer: a file descriptor, or a buffer of whole pages, as for `create_tensor`.
            mem_type: SHARED_BUF or CPU_VA, where the type of `shared_buffer` does not say.

        Raises:
            PropertyError: it is not memory, not on whole pages, or an address without a size.
            OpenVINOError: the plugin or the driver refuses.
        """
        asked = ask(shared_buffer, mem_type, None)
        if asked.mem_type is MemType.SHARED_BUF and not _checks.WINDOWS:
            return ZeroMemory(self, self._import_fd(_checks.number_of(asked.shared), False), False)
        if asked.mem_type is not MemType.CPU_VA:
            raise PropertyError(
                "MEM_TYPE", f"memory of type {asked.mem_type.name} has no size: use create_tensor()"
            )
        memory = host_memory_of(asked.shared)
        if memory.nbytes is None:
            raise PropertyError("MEM_HANDLE", "an address has no size: pass an array or a buffer")
        readonly = memory.readonly
        imported = self.imported_pages(
            memory.address, memory.nbytes, readonly, memory.keep, writes=not readonly
        )
        return ZeroMemory(self, imported, readonly)

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> ZeroBufferTensor:
        """New Level Zero memory on the host: `create_l0_host_tensor` in the words of samebytes."""
        return self.create_tensor(TensorInfo(dtype, shape).dtype, shape)

    def allocate_frame(self, format_: str | ImageFormat, width: int, height: int) -> Frame:
        """A new image in one piece of Level Zero memory; planes are [1, rows, columns, channels].

        Raises:
            LayoutError: a size that the format cannot have.
            UnknownNameError: no such format.
            OpenVINOError: the plugin refuses.
        """
        image = ImageInfo(ImageFormat.of(format_), width, height)
        layouts = image.packed_layouts()
        nbytes = max(p.offset + p.span for p in layouts)
        properties = as_properties(MemType.L0_INTERNAL_BUF, TensorType.BINDED)
        imported = self._import(nbytes, properties)
        storage = holding((imported,))
        natives = tuple(
            tensor_in(imported, storage, p.offset, TensorInfo(p.dtype, image_shape(p.shape)), False)
            for p in layouts
        )
        return self.frame_class(natives, self, FrameMeta(image), storage, None, False, (storage,))

    def readonly_native(self, native: Any) -> Any:
        """`native` itself: OpenVINO has no read-only tensors, so Tensor.readonly must do."""
        return native

    def imported_buffer(self, source: Storage, fd: int, readonly: bool) -> Imported:
        """The import of a DMA-BUF whose descriptor `source` owns; for this package's edges."""
        make = partial(self._import_fd, fd, readonly)
        return self._imports.buffer(source, fd, readonly, make)

    def imported_pages(
        self, address: int, nbytes: int, readonly: bool, source: object, *, writes: bool
    ) -> Imported:
        """The import of pages that `source` keeps alive; for this package's edges.

        Args:
            address, nbytes: of the pages.
            readonly: they may not be written.
            source: what they lie in.
            writes: the device may write to the tensor that will lie there.
        """
        _checks.check_pages(address, nbytes)
        use = TensorType.INPUT if readonly else TensorType.BINDED
        properties = as_properties(MemType.CPU_VA, use, address)
        make = partial(self._import, nbytes, properties, source)
        return self._imports.pages(address, nbytes, writes, make)

    def may_write(self, address: int, nbytes: int) -> bool:
        """Whether no page of the range is held as INPUT; for this package's requests."""
        return self._imports.may_write(address, nbytes)

    def _import_fd(self, fd: int, readonly: bool) -> Imported:
        use = TensorType.INPUT if readonly else TensorType.BINDED
        properties = as_properties(MemType.SHARED_BUF, use, fd)
        return self._import(_checks.memory_size(fd), properties)

    def _import(
        self, nbytes: int, properties: Mapping[str, str], source: object = None
    ) -> Imported:
        native = self._create(openvino.Type.u8, openvino.Shape([1, nbytes]), properties)
        return Imported(native, params_of(native), nbytes, source)

    def _create(self, element: Any, extents: Any, properties: Mapping[str, str]) -> Any:
        with naming("RemoteContext.create_tensor"):
            return self.native.create_tensor(element, extents, dict(properties))

    def _shared_handle(self, shared: Any, nbytes: int) -> int:
        handle = _checks.number_of(shared)
        if _checks.WINDOWS:
            _checks.check_handle(handle)
        else:
            _checks.check_fd(handle, nbytes)
        return handle

    def _file_tensor(self, info: TensorInfo, file: FileDescriptor) -> ZeroBufferTensor:
        nbytes = _checks.tensor_nbytes(info)
        pages = mapped_file(file, nbytes)
        size = -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        properties = as_properties(MemType.CPU_VA, TensorType.INPUT, data_address(pages))
        imported = self._import(size, properties, pages)
        storage = holding((imported,))
        native = tensor_in(imported, storage, 0, info, True)
        return ZeroBufferTensor(native, self, storage, None, True, info, (storage,))

    def _release(self) -> None:
        super()._release()
        self._imports.clear()


def image_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of an image plane as a tensor: [1, rows, columns, channels]."""
    return (1, *shape, *((1,) if len(shape) == 2 else ()))


def _check_writable(memory: HostMemory, use: TensorType) -> None:
    if memory.readonly and use is not TensorType.INPUT:
        raise AccessError(
            f"TENSOR_TYPE: {use.name} lets the device write, and this memory is read-only: "
            "pass TensorType.INPUT, or writable memory"
        )
