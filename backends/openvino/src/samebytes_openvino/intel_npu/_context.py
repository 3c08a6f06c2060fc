# SPDX-License-Identifier: Apache-2.0
"""ZeroContext: the Level Zero context of OpenVINO's NPU plugin."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import openvino

from samebytes import Context, Frame, FrameMeta, ImageFormat, ImageInfo, Storage, TensorInfo
from samebytes.errors import AccessError, DeviceMismatchError, UnknownNameError
from samebytes.plugins import ContextRegistry, NativeStorage, data_address

from .._core import NPU, core_of, default_npu_context, npu_device, npu_memory
from .._errors import PropertyError, naming
from .._host._tensor import OPENVINO, OpenVINOTensor
from .._remote._context import RemoteContext, RemoteTensor
from .._remote._conversions import info_of, on_windows, params_of
from .._remote._lifetimes import pin, pin_memory, pinned
from . import _arguments
from ._arguments import FileDescriptor, MemType, TensorType, as_properties, ask
from ._imports import HostMemory, Imported, Imports, holding, host_memory_of, mapped_file, tensor_in
from ._tensor import ZeroBufferTensor, ZeroMemory

if TYPE_CHECKING:
    from typing import Self, Unpack

    from samebytes.plugins import FrameSays

__all__ = ["ZeroContext", "image_shape", "wrap"]

# The message for a range that begins inside an import and ends behind it:
# src/plugins/intel_npu/src/utils/src/zero/zero_mem.cpp of OpenVINO.
_OVERLAP = "out of bounds of the allocated host memory"

# Keyed by the address of the ze_context.
_contexts: ContextRegistry[ZeroContext] = ContextRegistry()


class ZeroContext(RemoteContext):
    """The context of the NPU plugin: `samebytes.context("openvino:NPU")`.

    It wraps the plugin's own ze_context, the only one there can be: the plugin ignores any that it
    is given. So every openvino.Core gives the same object, and models compiled for "NPU", or on
    `native`, take its tensors.

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
    _imports: Imports

    def __new__(cls, core: Any = None) -> Self:
        core = core_of(core)
        native = default_npu_context(core)
        handle = int(params_of(native)["L0_CONTEXT"])
        make = partial(cls._make, native, core, handle)
        return _contexts.find_or_make(handle, make)  # type: ignore[return-value]  # no subclasses

    def __init__(self, core: Any = None) -> None:
        """Nothing to do: `__new__` sets all up, and the object it gives may be in use already."""

    @classmethod
    def _make(cls, native: Any, core: Any, handle: int) -> Self:
        self = object.__new__(cls)
        RemoteContext.__init__(self, native, core, npu_device(core), {"ze_context": handle})
        self.memory_size = npu_memory(core)
        self._imports = Imports()
        return self

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The one context.

        Raises:
            MissingDependencyError: OpenVINO finds no NPU.
            UnknownNameError: another device than "NPU", "NPU.0" and "NPU." with its platform.
            DeviceMismatchError: the ze_context of `parent` is not the plugin's own.
        """
        context = cls()
        # The plugin names its NPU by platform, as in "NPU.4000". "NPU.0" is the only number.
        if device not in (None, NPU, f"{NPU}.0"):
            names = context.core.get_property(NPU, "AVAILABLE_DEVICES")
            known = [NPU, f"{NPU}.0", *(f"{NPU}.{name}" for name in names)]
            if device not in known:
                raise UnknownNameError("device of openvino", str(device), known)
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

    @property
    def shared(self) -> bool:
        """True: the context is the plugin's, so close() leaves it open."""
        return True

    def get(self) -> int:
        """The ze_context_handle_t, which the plugin keeps owning."""
        return self.handle("ze_context")

    def create_tensor(
        self,
        type: Any,
        shape: Sequence[int],
        shared_buffer: Any = None,
        mem_type: MemType | str | None = None,
        tensor_type: TensorType | str | None = None,
        *,
        beside_input: bool = False,
    ) -> ZeroBufferTensor:
        """A remote tensor over existing memory, or over new memory.

        Args:
            type: an openvino.Type, or a dtype in any spelling.
            shape: elements along each axis.
            shared_buffer: a file descriptor (an int, a samebytes.Fd, an object with fileno()) of a
                DMA-BUF, or on Windows an NT handle; an address (with mem_type CPU_VA), an array, a
                tensor or another buffer on whole pages of the CPU's; a FileDescriptor; a map of
                MEM_TYPE, MEM_HANDLE, TENSOR_TYPE and FILE_DESCRIPTOR, as in C++; or None for
                memory that the plugin allocates.
            mem_type: what `shared_buffer` is, if its type does not show it.
            tensor_type: what the tensor is for; by default INPUT for files, otherwise BINDED.
            beside_input: allow the device to write to a buffer that is also in use as INPUT, which
                is refused by default. Intel's Linux driver imports a buffer for INPUT so that the
                device may only read it (linux-npu-driver). Whether a second import for writing
                works depends on your driver, and you order the reading and the writing.

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
        self.check_open()
        info, element, extents = info_of(type, shape)
        _arguments.check_size(info, self.memory_size)
        asked = ask(shared_buffer, mem_type, tensor_type)
        kind, use = asked.mem_type, asked.tensor_type
        if kind is MemType.MMAPED_FILE:
            return self._file_tensor(info, asked.shared)
        nbytes, handle, readonly, keep = _arguments.tensor_nbytes(info), None, False, None
        if kind is MemType.SHARED_BUF:
            handle = self._shared_handle(asked.shared, nbytes)
            if use is not TensorType.INPUT and not beside_input:
                self.check_not_input(handle)
        elif kind is MemType.CPU_VA:
            memory = host_memory_of(asked.shared)
            _check_writable(memory, use)
            memory.check_room(nbytes)
            _arguments.check_pages(memory.address, nbytes)
            if memory.nbytes is None:
                _arguments.check_mapped(memory.address, nbytes, use is not TensorType.INPUT)
            if use is not TensorType.INPUT and not beside_input:
                self.check_pages_not_input(memory.address, nbytes)
            handle, readonly, keep = memory.address, memory.readonly, memory.keep
        native = self._create(element, extents, as_properties(kind, use, handle))
        if kind is MemType.SHARED_BUF and use is TensorType.INPUT and not on_windows():
            assert handle is not None
            self._imports.hold_as_input(native, handle)
        if kind is MemType.CPU_VA:
            imported = Imported(native, params_of(native), nbytes, keep, handle)
            if imported.within_other:
                return self._whole_tensor(imported, info, readonly)
        if keep is None:
            pin(native, Storage())
        else:
            pin_memory(native, Storage(keep=keep), info)
        storage = NativeStorage(keep=native, nbytes=nbytes)
        return ZeroBufferTensor.owned(native, self, storage, readonly=readonly, info=info)

    def create_l0_host_tensor(
        self,
        type: Any,
        shape: Sequence[int],
        tensor_type: TensorType | str = TensorType.BINDED,
    ) -> ZeroBufferTensor:
        """A remote tensor over new Level Zero memory on the host. The driver cannot export it.

        Args:
            type: the element type: a name, a numpy dtype or an openvino.Type.
            shape: elements along each axis.
            tensor_type: what the device may do with it: INPUT, OUTPUT or BINDED (both).

        Raises:
            PropertyError, UnknownNameError, OpenVINOError: as for `create_tensor`.
        """
        return self.create_tensor(type, shape, tensor_type=tensor_type)

    def create_host_tensor(self, type: Any, shape: Sequence[int]) -> OpenVINOTensor:
        """A host tensor over new Level Zero memory, which the plugin uses in place.

        The tensor is one of "openvino": its native object is an ordinary openvino.Tensor.

        Args:
            type: the element type: a name, a numpy dtype or an openvino.Type.
            shape: elements along each axis.

        Raises:
            PropertyError, UnknownNameError, OpenVINOError: as for `create_tensor`.
        """
        self.check_open()
        info, element, extents = info_of(type, shape)
        _arguments.check_size(info, self.memory_size)
        with naming("RemoteContext.create_host_tensor"):
            native = self.native.create_host_tensor(element, extents)
        params: dict[str, int | str] = {
            **as_properties(MemType.L0_INTERNAL_BUF, TensorType.BINDED),
            "MEM_HANDLE": data_address(native.data),
        }
        imported = Imported(native, params, _arguments.tensor_nbytes(info))
        storage = holding((imported,))
        view = tensor_in(imported, storage, 0, info, False)
        return OpenVINOTensor.owned(view, OPENVINO, storage, info=info)

    def import_memory(
        self, shared_buffer: Any, mem_type: MemType | str | None = None
    ) -> ZeroMemory:
        """A whole buffer, imported for tensors anywhere in it: planes at offsets, parts of pages.

        Args:
            shared_buffer: a file descriptor, or a buffer of whole pages, as for `create_tensor`.
            mem_type: SHARED_BUF or CPU_VA, if the type of `shared_buffer` does not show it.

        Raises:
            PropertyError: it is not memory, not on whole pages, or an address without a size.
            OpenVINOError: the plugin or the driver refuses.
        """
        self.check_open()
        asked = ask(shared_buffer, mem_type, None)
        if asked.mem_type is MemType.SHARED_BUF and not on_windows():
            return ZeroMemory(
                self, self._import_fd(_arguments.number_of(asked.shared), False), False
            )
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
        return ZeroMemory(self, imported.part(memory.address, memory.nbytes), readonly)

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> ZeroBufferTensor:
        """A tensor in new Level Zero memory on the host, as `create_l0_host_tensor` makes it."""
        return self.create_tensor(TensorInfo(dtype, shape).dtype, shape)

    def allocate_frame(
        self, format: str | ImageFormat, width: int, height: int, **says: Unpack[FrameSays]
    ) -> Frame[RemoteTensor]:
        """A new image in one piece of Level Zero memory; planes are [1, rows, columns, channels].

        Args:
            says: `pts`, `time_base`, `duration` and `metadata`, as for `samebytes.frame`.

        Raises:
            LayoutError: a size that the format cannot have.
            UnknownNameError: no such format.
            OpenVINOError: the plugin refuses.
        """
        image = ImageInfo(ImageFormat.of(format), width, height)
        properties = as_properties(MemType.L0_INTERNAL_BUF, TensorType.BINDED)
        imported = self._import(image.nbytes, properties)
        storage = holding((imported,))
        natives = tuple(
            tensor_in(imported, storage, p.offset, TensorInfo(p.dtype, image_shape(p.shape)), False)
            for p in image.packed_layouts()
        )
        return Frame.owned(natives, self, FrameMeta(image), storage)

    def readonly_native(self, native: Any) -> Any:
        """`native` itself: OpenVINO has no read-only tensors, so only Tensor.readonly marks it."""
        return native

    def imported_buffer(self, source: Storage, fd: int, readonly: bool) -> Imported:
        """The import of a DMA-BUF whose descriptor `source` owns; for this package's edges.

        Args:
            source: the owner of the buffer.
            fd: its descriptor.
            readonly: import it for reading alone.
        """
        make = partial(self._import_fd, fd, readonly)
        return self._imports.of_source(source, (fd, readonly), make)

    def imported_pages(
        self, address: int, nbytes: int, readonly: bool, source: object, *, writes: bool
    ) -> Imported:
        """The import of pages that `source` keeps alive; for this package's edges.

        Args:
            address, nbytes: where the pages begin, and their length in bytes.
            readonly: True if they must not be written.
            source: the object that owns their memory.
            writes: True if the device may write to the tensor that will lie there.

        Raises:
            PropertyError: some of the pages belong to another import, or were imported only for
                reading, or are part of a buffer that the NPU holds as INPUT. The plugin keeps one
                import of each page: it refuses a range that begins inside an import and ends
                behind it, and for a known range it gives the first import again, whatever that
                was made for.
        """
        _arguments.check_pages(address, nbytes)
        if writes:
            self.check_pages_not_input(address, nbytes)
        use = TensorType.INPUT if readonly else TensorType.BINDED
        properties = as_properties(MemType.CPU_VA, use, address)
        make = partial(self._import, nbytes, properties, source, address)
        imported, _ = self._imports.pages(
            address,
            nbytes,
            make,
            taken=_pages_taken,
            again=_check_may_write if writes else None,
            remembers=lambda made: not made.within_other,
        )
        return imported

    def may_write(self, address: int, nbytes: int) -> bool:
        """True if no page of the range is held as INPUT; for this package's requests.

        Args:
            address: the address at which the memory begins.
            nbytes: its size in bytes.
        """
        return not any(known.readonly for known in self._imports.on_pages(address, nbytes))

    def check_not_input(self, fd: int) -> None:
        """Raise PropertyError if an INPUT tensor exists over a buffer that is to be written.

        Args:
            fd: the descriptor of the buffer, which the caller keeps.
        """
        if not on_windows():
            self._imports.check_not_input(fd)

    def check_pages_not_input(self, address: int, nbytes: int) -> None:
        """Do the same check for a buffer whose pages the CPU has mapped at an address.

        Args:
            address: where the CPU has mapped it.
            nbytes: its size in bytes.
        """
        if not on_windows():
            self._imports.check_pages_not_input(address, nbytes)

    def _import_fd(self, fd: int, readonly: bool) -> Imported:
        use = TensorType.INPUT if readonly else TensorType.BINDED
        properties = as_properties(MemType.SHARED_BUF, use, fd)
        return self._import(_arguments.memory_size(fd), properties)

    def _import(
        self,
        nbytes: int,
        properties: Mapping[str, str],
        source: object = None,
        address: int | None = None,
    ) -> Imported:
        native = self._create(openvino.Type.u8, openvino.Shape([1, nbytes]), properties)
        imported = Imported(native, params_of(native), nbytes, source, address)
        if source is not None and not imported.within_other:
            pin_memory(native, Storage(keep=source), TensorInfo("uint8", (1, nbytes)))
        return imported

    def _create(self, element: Any, extents: Any, properties: Mapping[str, str]) -> Any:
        with naming("RemoteContext.create_tensor"):
            try:
                return self.native.create_tensor(element, extents, dict(properties))
            except RuntimeError as error:
                if _OVERLAP in str(error):
                    raise _pages_taken() from error
                raise

    def _shared_handle(self, shared: Any, nbytes: int) -> int:
        handle = _arguments.number_of(shared)
        if on_windows():
            _arguments.check_handle(handle)
        else:
            _arguments.check_fd(handle, nbytes)
        return handle

    def _file_tensor(self, info: TensorInfo, file: FileDescriptor) -> ZeroBufferTensor:
        nbytes = _arguments.tensor_nbytes(info)
        pages = mapped_file(file, nbytes)
        size = -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        properties = as_properties(MemType.CPU_VA, TensorType.INPUT, data_address(pages))
        return self._whole_tensor(self._import(size, properties, pages), info, True)

    def _whole_tensor(
        self, imported: Imported, info: TensorInfo, readonly: bool
    ) -> ZeroBufferTensor:
        storage = holding((imported,))
        native = tensor_in(imported, storage, 0, info, readonly)
        return ZeroBufferTensor.owned(native, self, storage, readonly=readonly, info=info)


def image_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of an image plane as a tensor: [1, rows, columns, channels]."""
    return (1, *shape, *((1,) if len(shape) == 2 else ()))


def _check_writable(memory: HostMemory, use: TensorType) -> None:
    if memory.readonly and use is not TensorType.INPUT:
        raise AccessError(
            f"TENSOR_TYPE: {use.name} lets the device write, and this memory is read-only: "
            "pass TensorType.INPUT, or writable memory"
        )


def _pages_taken(_: object = None) -> PropertyError:
    return PropertyError(
        "MEM_HANDLE",
        "it shares a page with other memory that the NPU holds at the moment, for a tensor, or for "
        "the last frame of a request: release or close that first, or give it pages of its own, "
        'as samebytes.context("cpu").allocate() does',
    )


def _check_may_write(known: Imported) -> None:
    if known.readonly:
        raise PropertyError(
            "TENSOR_TYPE",
            "the NPU may only read these pages while they are in use as INPUT, as part of memory "
            "that is read-only: drop the tensors that were mapped from that memory first",
        )


def wrap(native: Any) -> ZeroBufferTensor:
    """The tensor over an openvino.RemoteTensor of the NPU plugin.

    One that samebytes did not make may be a region of another: see `ZeroBufferTensor.as_`.
    """
    owner = pinned(native) or Storage()
    return ZeroBufferTensor.borrowed(native, ZeroContext(), keep=owner)
