# SPDX-License-Identifier: Apache-2.0
"""The native object of this backend: an array in USM that keeps its memory alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dpctl.memory
import numpy as np

from samebytes import TensorInfo
from samebytes.errors import LayoutError, NotHostVisibleError
from samebytes.plugins import Storage

if TYPE_CHECKING:
    from ._context import SYCLContext

__all__ = ["USMArray"]


class USMArray:
    """An array in unified shared memory: where it starts, its layout, and what keeps it.

    dpctl's memory objects know bytes alone; this is the array. Whatever takes
    `__sycl_usm_array_interface__` takes it, dpctl and dpnp among them, and holds it while it uses
    the memory.

    Attributes:
        context: the SYCLContext in which the pointer is valid.
        address: of the first element.
        info: dtype, shape and strides in bytes.
        kind: "host", "shared" or "device" memory.
        pin: the owner of the memory. Holding the array holds the memory.
        readonly: it may not be written through. SYCL has no read-only memory: consumers only see
            this flag.
    """

    __slots__ = ("__weakref__", "address", "context", "info", "kind", "pin", "readonly")

    def __init__(
        self,
        context: SYCLContext,
        address: int,
        info: TensorInfo,
        kind: str,
        pin: Storage,
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
        return self.kind != "device"

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        """The protocol of dpctl's documentation ("USM array interface"). Strides are in elements.

        Raises:
            ClosedError: its context was closed, with which the queue went.
            LayoutError: the interface cannot express the layout.
        """
        self.context.check_open()
        info = self.info
        native, strides = info.dtype.numpy, info.strides
        if native is None:
            raise LayoutError(f"the USM array interface has no type string for {info.dtype}")
        assert strides is not None, "USM is linear"
        if any(s < 0 for s in strides):
            # dpctl takes the first element's address for the lowest.
            raise LayoutError(f"dpctl cannot take the negative strides {strides}")
        if any(s % native.itemsize for s in strides):
            raise LayoutError(f"strides {strides} are not multiples of {native.itemsize} bytes")
        return {
            "data": (self.address, self.readonly),
            "shape": info.shape,
            "strides": tuple(s // native.itemsize for s in strides),
            "typestr": native.str,
            "version": 1,
            "syclobj": self.context.queue,
            "offset": 0,
        }

    def memory(self) -> Any:
        """A dpctl memory object over the bytes from the first element to the last.

        It holds this array, which holds the memory.

        Raises:
            ClosedError: its context was closed.
            LayoutError: dpctl cannot express the layout.
        """
        self.context.check_open()
        return dpctl.memory.as_usm_memory(self)

    def array(self) -> np.ndarray[Any, Any]:
        """The elements in place, as a numpy array that keeps them alive.

        Raises:
            NotHostVisibleError: this is device memory.
        """
        if not self.host_visible:
            raise NotHostVisibleError(
                "device USM cannot be read by the CPU in place: allocate host or shared USM, "
                'or pass copy=True to map("cpu")'
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

    def as_readonly(self) -> USMArray:
        """The same array, marked read-only."""
        return USMArray(self.context, self.address, self.info, self.kind, self.pin, readonly=True)

    def __repr__(self) -> str:
        return f"<USMArray {self.kind} {self.address:#x}, {self.info}>"
