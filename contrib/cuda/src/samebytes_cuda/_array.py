# SPDX-License-Identifier: Apache-2.0
"""The native object of this backend: an array in CUDA memory that keeps its memory alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samebytes.errors import LayoutError
from samebytes.plugins import PointerArray

from . import _dlpack
from ._driver import LEGACY_STREAM
from ._memory import HOST_VISIBLE

if TYPE_CHECKING:
    from ._use import CudaStorage

__all__ = ["CudaArray"]


class CudaArray(PointerArray):
    """An array in CUDA memory: its address, its layout, and the owner that keeps it.

    It has DLPack and version 3 of the CUDA array interface, so torch, CuPy, JAX and Numba take it,
    and hold it while they use the memory.

    `kind` is "device", "pinned", "managed" or "exportable" memory. CUDA has no read-only memory:
    `readonly` is only a flag for consumers.
    """

    __slots__ = ()

    host_kinds = HOST_VISIBLE
    not_host_visible = (
        "device memory cannot be read by the CPU where it lies: allocate pinned or managed "
        'memory, or read a copy: map("cpu", copy=True)'
    )

    pin: CudaStorage

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, version 3, as Numba's documentation describes it.

        Its stream is the legacy default stream, after which the consumer orders its work.

        Raises:
            LayoutError: the interface cannot express the layout.
        """
        info = self.info
        native, strides = info.dtype.numpy, info.strides
        if native is None:
            raise LayoutError(f"the CUDA array interface cannot express {info.dtype}")
        assert strides is not None, "CUDA memory is linear"
        self.pin.hand_out()
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
        """Let a stream wait for the work pending on the memory.

        Args:
            stream: the CUstream.
        """
        _dlpack.order_before(self, stream)
