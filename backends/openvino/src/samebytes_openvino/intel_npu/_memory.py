# SPDX-License-Identifier: Apache-2.0
"""ZeroMemory: a whole piece of memory that was imported, and tensors anywhere in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._errors import PropertyError
from .._remote._values import info_of
from . import _checks
from ._imports import Imported, holding, tensor_in
from ._tensor import ZeroBufferTensor

if TYPE_CHECKING:
    from ._context import ZeroContext

__all__ = ["ZeroMemory"]


class ZeroMemory:
    """Memory that the NPU plugin imported as a whole: `ZeroContext.import_memory`.

    Tensors of it keep it, and what it lies in. Drop it when no more tensors are to be made.

    Attributes:
        context: the ZeroContext.
        readonly: it may not be written to.
    """

    __slots__ = ("_imported", "context", "readonly")

    def __init__(self, context: ZeroContext, imported: Imported, readonly: bool) -> None:
        self.context = context
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

        An ordinary openvino.Tensor where it lies within memory that the NPU held already.
        """
        imported = self._imported
        if imported.within_other:
            return self.tensor("uint8", (1, imported.nbytes)).native
        return imported.native

    def tensor(self, type: Any, shape: Sequence[int], offset: int = 0) -> ZeroBufferTensor:
        """A dense tensor in it. The plugin hands its very pointer to the device.

        Args:
            type: an openvino.Type, or a dtype in any spelling.
            shape: elements along each axis.
            offset: of the first element, in bytes; a multiple of the element's size.

        Raises:
            PropertyError: it reaches beyond the memory, or its elements are not aligned.
            UnknownNameError: no such element type.
        """
        info, _, _ = info_of(type, shape)
        _checks.check_size(info, self.nbytes)
        nbytes = _checks.tensor_nbytes(info)
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
