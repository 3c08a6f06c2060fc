# SPDX-License-Identifier: Apache-2.0
"""Tensors in the memory of OpenVINO's NPU plugin, and ZeroMemory, a whole imported piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from samebytes import Storage, TensorInfo
from samebytes.errors import NotHostVisibleError, UnsupportedObjectError
from samebytes.plugins import array_in, data_address

from .._errors import PropertyError, RegionError
from .._host._layout import element_type, from_element_type
from .._host._pinned import PinnedTensor
from .._host._tensor import array_of
from .._remote._context import RemoteContext, RemoteTensor
from .._remote._conversions import as_tensor, info_of, on_windows
from .._remote._lifetimes import pin, pinned
from . import _arguments
from ._arguments import MemType, TensorType
from ._imports import Imported, holding, tensor_in

__all__ = [
    "REGION",
    "ZeroBufferTensor",
    "ZeroMemory",
    "check_copyable",
    "host_memory",
    "may_be_region",
]

T = TypeVar("T", bound=RemoteTensor)

REGION = (
    "OpenVINO gives a region of a remote tensor the address of the whole one, so it is not known "
    "where this tensor begins: take the part of the whole tensor's host_array(), or, if it is not "
    "a region, use tensor.as_()"
)


class ZeroBufferTensor(RemoteTensor):
    """A tensor in Level Zero memory that the NPU plugin allocated or imported.

    `native` is an openvino.RemoteTensor, or, after map(), an ordinary openvino.Tensor inside such
    memory. The plugin copies neither.

    Handles: "usm_ptr", valid in the context's ze_context, and "data".
    """

    __slots__ = ()

    @classmethod
    def matches(cls, params: Mapping[str, int | str]) -> bool:
        """True if a tensor with these properties is of this class, by the check of the C++ class.

        Args:
            params: as `tensor.params` returns them.
        """
        return "MEM_HANDLE" in params and params.get("MEM_TYPE") in MemType.__members__

    def is_(self, kind: type[RemoteTensor] | None = None) -> bool:
        """True if this tensor can be used as one of a class, by default `ZeroBufferTensor`.

        Args:
            kind: a class of tensors.
        """
        matches = getattr(kind or ZeroBufferTensor, "matches", None)
        return matches is None or bool(matches(self.params))

    @overload
    def as_(self) -> ZeroBufferTensor: ...

    @overload
    def as_(self, kind: type[T]) -> T: ...

    def as_(self, kind: type[Any] | None = None) -> Any:
        """The same tensor as one of a class, by default `ZeroBufferTensor`.

        For an openvino.RemoteTensor that samebytes did not make, calling this states that it is
        not a region of another one. From then on the tensor has a pointer.

        Args:
            kind: a class of tensors.

        Raises:
            UnsupportedObjectError: it is of another kind.
        """
        kind = kind or ZeroBufferTensor
        if not self.is_(kind):
            raise UnsupportedObjectError(
                f"MEM_TYPE: a tensor of the NPU plugin is not a {kind.__name__}"
            )
        native = self.native
        if not isinstance(native, PinnedTensor) and pinned(native) is None:
            pin(native, self.storage)
        return kind.borrowed(
            native,
            self.context,
            keep=self.storage,
            readonly=self.readonly,
            info=self.info,
            parent=self.parent,
        )

    @property
    def params(self) -> dict[str, int | str]:
        """The properties reported for it: MEM_TYPE, MEM_HANDLE (the USM pointer), TENSOR_TYPE."""
        native = self.native
        if isinstance(native, PinnedTensor):
            imported: Imported = native.pin
            return {**imported.params, "MEM_HANDLE": data_address(native.data)}
        return super().params

    @property
    def mem_type(self) -> MemType:
        """The origin of its memory."""
        return MemType(self.params["MEM_TYPE"])

    @property
    def tensor_type(self) -> TensorType:
        """The purpose of the tensor."""
        return TensorType(self.params["TENSOR_TYPE"])

    def get(self) -> int:
        """The USM pointer to its first element, valid as long as the tensor exists.

        Raises:
            RegionError: the openvino.RemoteTensor may be a region.
        """
        if may_be_region(self.native):
            raise RegionError(REGION)
        return int(self.params["MEM_HANDLE"])

    def host_array(self) -> np.ndarray[Any, Any]:
        """An array over the bytes in place, which keeps them alive.

        Memory of tensor type INPUT is write-combined: fast to fill, slow to read. An inference
        that uses the tensor must have ended.

        Raises:
            NotHostVisibleError: an NT handle.
            RegionError: the openvino.RemoteTensor may be a region.
        """
        native = self.native
        if isinstance(native, PinnedTensor):
            return array_of(native, self.readonly)[0]
        array = array_in(host_memory(self), self.info)
        if self.readonly:
            array.flags.writeable = False
        return array

    def _describe(self) -> TensorInfo:
        native = self.native
        if isinstance(native, PinnedTensor):
            return TensorInfo(from_element_type(native.element_type), tuple(native.shape))
        return super()._describe()

    def _handle(self, key: str) -> int | None:
        if key == "usm_ptr":
            return self.get()
        return super()._handle(key)


def may_be_region(native: Any) -> bool:
    """True if a native object can be a region of another remote tensor.

    A tensor that samebytes made, or that as_() was called for, is not a region.
    """
    return not isinstance(native, PinnedTensor) and pinned(native) is None


def check_copyable(tensor: ZeroBufferTensor) -> None:
    """Raise RegionError unless the plugin copies the right bytes.

    The plugin copies regions with gaps between their rows correctly. Copying a region without gaps
    writes past the end of the target and ends the process (observed with 2026.4.1 and elements
    larger than a byte). Nothing shows whether a tensor without gaps is a region.
    """
    if not may_be_region(tensor.native):
        return
    info = tensor.info
    if (
        info.dtype.packed
        or as_tensor(tensor.native, element_type(info.dtype), info.ndim).is_continuous()
    ):
        raise RegionError(REGION)


def host_memory(tensor: ZeroBufferTensor) -> Storage:
    """The bytes of an openvino.RemoteTensor where the CPU reads them, kept alive.

    On Linux all imports are made with zeMemAllocHost, like the plugin's own memory. On Windows NT
    handles become memory of the device.

    Raises:
        NotHostVisibleError: the CPU cannot read it in place.
    """
    address = tensor.get()
    if on_windows() and tensor.mem_type is MemType.SHARED_BUF:
        raise NotHostVisibleError(
            "an NT handle is imported as memory of the device: use tensor.map('cpu', copy=True)"
        )
    return Storage(
        address=address,
        nbytes=_arguments.tensor_nbytes(tensor.info),
        keep=tensor.storage,
        # The memory is freed with the native object, which the tensor's own storage must not hold.
        holds=tensor.native,
        readonly=tensor.readonly,
    )


class ZeroMemory:
    """Memory that the NPU plugin imported as a whole: `ZeroContext.import_memory`.

    Its tensors keep the memory alive, and the object that owns it. This object can be dropped once
    all tensors are made.

    Attributes:
        context: the ZeroContext.
        readonly: True if it may not be written.
    """

    __slots__ = ("_imported", "context", "readonly")

    def __init__(self, context: RemoteContext, imported: Imported, readonly: bool) -> None:
        self.context: Any = context  # a ZeroContext
        self.readonly = readonly
        self._imported = imported

    @property
    def address(self) -> int:
        """The USM pointer to the first byte, valid while this object or a tensor of it lives."""
        return self._imported.address

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self._imported.nbytes

    @property
    def native(self) -> Any:
        """The openvino.RemoteTensor over all of it: uint8 [1, nbytes].

        If it lies inside memory that the NPU held already: an ordinary openvino.Tensor.
        """
        imported = self._imported
        if imported.within_other:
            return self.tensor("uint8", (1, imported.nbytes)).native
        return imported.native

    def tensor(self, type: Any, shape: Sequence[int], offset: int = 0) -> ZeroBufferTensor:
        """A dense tensor in this memory. The plugin hands its pointer to the device, uncopied.

        Args:
            type: an openvino.Type, or a dtype in any spelling.
            shape: elements along each axis.
            offset: where it begins, in bytes; a multiple of the element's size.

        Raises:
            PropertyError: it reaches beyond the memory, or its elements are not aligned.
            UnknownNameError: no such element type.
        """
        info, _, _ = info_of(type, shape)
        _arguments.check_size(info, self.nbytes)
        nbytes = _arguments.tensor_nbytes(info)
        if offset < 0 or offset + nbytes > self.nbytes:
            raise PropertyError(
                "offset",
                f"the tensor takes bytes {offset} to {offset + nbytes} of memory of {self.nbytes}",
            )
        if offset % (info.dtype.itemsize or 1):
            raise PropertyError("offset", f"{offset} is not a multiple of the size of {info.dtype}")
        storage = holding((self._imported,))
        native = tensor_in(self._imported, storage, offset, info, self.readonly)
        return ZeroBufferTensor.owned(
            native, self.context, storage, readonly=self.readonly, info=info
        )

    def __repr__(self) -> str:
        return f"<ZeroMemory {self.nbytes} bytes at {self.address:#x}>"
