# SPDX-License-Identifier: Apache-2.0
"""The native object of this backend: an array in CUDA memory that keeps its memory alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samebytes import TensorInfo
from samebytes.errors import LayoutError, NotHostVisibleError

from . import _dlpack
from ._driver import LEGACY_STREAM
from ._memory import HOST_VISIBLE

if TYPE_CHECKING:
    from ._context import CudaContext
    from ._use import CudaStorage

__all__ = ["CudaArray"]


class CudaArray:
    """An array in CUDA memory: where it starts, its layout, and what keeps it.

    It has DLPack and version 3 of the CUDA array interface, so torch, CuPy, JAX and Numba take it,
    and hold it while they use the memory.

    Attributes:
        context: the CudaContext in which the pointer is valid.
        address: of the first element.
        info: dtype, shape and strides in bytes.
        kind: "device", "pinned", "managed" or "exportable" memory.
        pin: the owner of the memory. Holding the array holds the memory.
        readonly: nobody may write through it. CUDA has no read-only memory, so this is
            only what consumers hear.
    """

    __slots__ = ("__weakref__", "address", "context", "info", "kind", "pin", "readonly")

    def __init__(
        self,
        context: CudaContext,
        address: int,
        info: TensorInfo,
        kind: str,
        pin: CudaStorage,
        readonly: bool = False,
    ) -> None:
        self.context = context
        self.address = address
        self.info = info
        self.kind = kind
        self.pin = pin
        self.readonly = readonly

    @property
    def host_visible(self) -> bool:
        """Whether the CPU can read it where it lies."""
        return self.kind in HOST_VISIBLE

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, version 3, as Numba's documentation describes it.

        Its stream is the legacy default stream, which the consumer orders its work by.

        Raises:
            ClosedError: its context was closed.
            LayoutError: the interface cannot express the layout.
        """
        self.context.check_open()
        info = self.info
        native, strides = info.dtype.numpy, info.strides
        if native is None:
            raise LayoutError(f"the CUDA array interface has no word for {info.dtype}")
        assert strides is not None, "CUDA memory is linear"
        self.pin.use.handed_out = True
        return {
            "shape": info.shape,
            "typestr": native.str,
            "data": (self.address if info.size else 0, self.readonly),
            "version": 3,
            "strides": None if info.is_contiguous else strides,
            "stream": LEGACY_STREAM,
        }

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule over the memory; see `CudaTensor`."""
        return _dlpack.export(self, self.readonly, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _dlpack.device_of(self)

    def order_before(self, stream: int) -> None:
        """Let a stream wait for what is pending on the memory.

        Args:
            stream: the CUstream.
        """
        _dlpack.order_before(self, stream)

    def array(self) -> np.ndarray[Any, Any]:
        """The elements in place, as a numpy array that keeps them alive. It waits for nothing.

        Raises:
            NotHostVisibleError: this is device memory.
        """
        if not self.host_visible:
            raise NotHostVisibleError(
                "device memory cannot be read by the CPU where it lies: allocate pinned or managed "
                'memory, or pass copy=True to map("cpu")'
            )
        info, low = self.info, self.info.extent[0]
        memory = np.asarray(self.pin)
        start = self.address - self.pin.address
        if info.dtype.packed:
            array = memory[start : start + info.nbytes]
        elif not info.size:
            array = np.empty(info.shape, info.dtype.carrier)
        else:
            assert start + low >= 0, "the owner's bytes hold all of the array"
            array = np.ndarray(info.shape, info.dtype.carrier, memory, start, info.strides)
        if self.readonly:
            array.setflags(write=False)
        return array

    def as_readonly(self) -> CudaArray:
        """The same array, marked read-only."""
        return CudaArray(self.context, self.address, self.info, self.kind, self.pin, readonly=True)

    def __repr__(self) -> str:
        return f"<CudaArray {self.kind} {self.address:#x}, {self.info}>"
