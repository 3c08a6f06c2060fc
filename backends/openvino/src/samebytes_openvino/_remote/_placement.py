# SPDX-License-Identifier: Apache-2.0
"""What the GPU and NPU plugins do with an ordinary tensor: use it where it lies, or copy it."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import openvino

from samebytes.plugins import Tensor, data_address

from .._bindings import Placement
from ..intel_gpu._opencl import allocation, mem_size
from ._context import RemoteContext
from ._errors import last_line
from ._values import params_of, pointer

__all__ = ["Place", "Places", "places_of"]

_USM = ("USM_USER_BUFFER", "USM_HOST_BUFFER", "USM_DEVICE_BUFFER")


@dataclass(frozen=True, slots=True)
class Place:
    """What the plugin does with one tensor.

    Attributes:
        placement: see `Binding`.
        reason: why it is copied.
        pin: what must live for as long as the tensor is bound, or this would no longer hold.
    """

    placement: Placement
    reason: str = ""
    pin: Any = None


class Places(Protocol):
    """What a plugin does with tensors.

    Attributes:
        own: what it does with the request's own tensors.
        converts: element types that it lacks, and converts at each inference.
        refuses_remote: element types of which it takes no remote input.
        takes_remote_batches: set_tensors() takes remote tensors.
    """

    own: Placement
    converts: frozenset[str]
    refuses_remote: frozenset[str]
    takes_remote_batches: bool

    def look(self, native: Any, writes: bool) -> Place:
        """What happens to a dense openvino.Tensor that is not empty, in memory of the CPU.

        Args:
            writes: it is an output.
        """

    def may_be_region(self, tensor: Tensor) -> bool:
        """Whether a remote tensor of the user's can be a region, and regions are copied."""


class GpuPlaces:
    """Tensors under the GPU plugin.

    It uses USM host memory of its own cl_context, and interior pointers into it, if the GPU works
    in the memory of the CPU; it copies all other memory that is set as an ordinary tensor
    (create_or_share_device_tensor in the plugin's sync_infer_request.cpp). On a discrete GPU that
    depends on its generation.
    """

    # Observed with GPU_MEMORY_STATISTICS; a remote boolean input fails at inference.
    converts = frozenset({"float64", "uint64"})
    refuses_remote = frozenset({"bool"})
    takes_remote_batches = True

    def __init__(self, context: RemoteContext) -> None:
        self._cl_context = context.handle("cl_context")
        kind = context.core.get_property(context.device_name, "DEVICE_TYPE")
        integrated = kind == openvino.properties.device.Type.INTEGRATED
        self.own: Placement = "in place" if integrated else "unknown"

    def look(self, native: Any, writes: bool) -> Place:
        """As `Places.look`."""
        found = allocation(self._cl_context, data_address(native.data))
        if found.kind == "host":
            return Place(self.own)
        what = "USM shared" if found.kind == "shared" else "ordinary"
        return Place("copied", f"the GPU plugin copies {what} memory that is set as a tensor")

    def may_be_region(self, tensor: Tensor) -> bool:
        """As `Places.may_be_region`: whether the memory is larger than the tensor."""
        params = params_of(tensor.native)
        kind, handle = params["SHARED_MEM_TYPE"], int(params["MEM_HANDLE"])
        if kind == "OCL_BUFFER":
            return mem_size(handle) > tensor.info.nbytes
        found = allocation(self._cl_context, handle) if kind in _USM else None
        return found is not None and found.size > tensor.info.nbytes


class NpuPlaces:
    """Tensors under the NPU plugin.

    It looks ordinary ones up among the memory that it allocated or imported, where they may lie at
    any offset; else it imports whole pages; else it copies, silently. The plugin itself is asked,
    by making a remote tensor over the same bytes, which is then kept: as long as it lives, the
    memory is known, and is not imported anew by each inference.
    """

    own: Placement = "in place"
    converts: frozenset[str] = frozenset()
    refuses_remote: frozenset[str] = frozenset()
    takes_remote_batches = False

    def __init__(self, context: RemoteContext) -> None:
        self._native = context.native
        npu: Any = context  # a ZeroContext, which programs for a GPU alone do not import
        self._may_write: Callable[[int, int], bool] = npu.may_write

    def look(self, native: Any, writes: bool) -> Place:
        """As `Places.look`."""
        address, nbytes = data_address(native.data), native.byte_size
        if writes and not self._may_write(address, nbytes):
            return Place("copied", "the NPU holds these pages as INPUT, of read-only memory")
        whole_pages = not (address % mmap.PAGESIZE or nbytes % mmap.PAGESIZE)
        # One byte is no whole page: this fails unless the memory is known already.
        known = not whole_pages or self._is_known(address)
        try:
            pin = self._over(address, nbytes, writes)
        except RuntimeError as error:
            return Place(
                "copied",
                f"the NPU plugin imports whole pages of {mmap.PAGESIZE} bytes only, and refuses "
                f"these {nbytes} bytes at {address:#x}: {last_line(error)}",
            )
        return Place("in place" if known else "imported", pin=pin)

    def may_be_region(self, tensor: Tensor) -> bool:
        """As `Places.may_be_region`: regions are used in place, or refused."""
        return False

    def _is_known(self, address: int) -> bool:
        try:
            self._over(address, 1, True)
        except RuntimeError:
            return False
        return True

    def _over(self, address: int, nbytes: int, writes: bool) -> Any:
        properties = {"MEM_TYPE": "CPU_VA", "MEM_HANDLE": pointer(address)}
        shape = openvino.Shape([1, nbytes])
        make = self._native.create_tensor
        try:
            return make(openvino.Type.u8, shape, properties)
        except RuntimeError:
            if writes:
                raise
            # Pages that cannot be written. Not tried first: who finds this import in the plugin's
            # list later may want to write to the same memory.
            return make(openvino.Type.u8, shape, properties | {"TENSOR_TYPE": "INPUT"})


def places_of(context: RemoteContext) -> Places:
    """The rules of the context's plugin."""
    return GpuPlaces(context) if context.device_name.startswith("GPU") else NpuPlaces(context)
