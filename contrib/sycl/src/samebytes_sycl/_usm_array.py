# SPDX-License-Identifier: Apache-2.0
"""The native object of this backend: an array in USM that keeps its memory alive."""

from __future__ import annotations

from typing import Any

import dpctl.memory

from samebytes.errors import LayoutError
from samebytes.plugins import PointerArray

__all__ = ["USMArray"]


class USMArray(PointerArray):
    """An array in unified shared memory: its address, its layout, and the owner that keeps it.

    dpctl's memory objects only know bytes; this is the array. Every library that takes
    `__sycl_usm_array_interface__` takes it, dpctl and dpnp among them, and holds it while it uses
    the memory.

    `kind` is "host", "shared" or "device" memory. SYCL has no read-only memory: consumers only see
    the flag `readonly`.
    """

    __slots__ = ()

    host_kinds = frozenset(("host", "shared"))
    not_host_visible = (
        "device USM cannot be read by the CPU in place: allocate host or shared USM, "
        'or read a copy: map("cpu", copy=True)'
    )

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        """The protocol of dpctl's documentation ("USM array interface"). Strides are in elements.

        Raises:
            LayoutError: the interface cannot express the layout.
        """
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
            LayoutError: dpctl cannot express the layout.
        """
        return dpctl.memory.as_usm_memory(self)
