# SPDX-License-Identifier: Apache-2.0
"""The rules by which the GPU and NPU plugins use an ordinary tensor in place, or copy it."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any

import openvino

from samebytes import Tensor
from samebytes.plugins import data_address

from .._errors import last_line
from .._request._binding import Placement, PlacementRules, Verdict
from .._request._ports import Port
from ..intel_gpu._checks import cl_context_of, may_be_region
from ..intel_gpu._opencl import allocation
from ._context import RemoteContext, native_in
from ._conversions import params_of, pointer

__all__ = ["placement_rules"]


class GpuPlacement:
    """The treatment of tensors by the GPU plugin.

    If the GPU works in the memory of the CPU, the plugin uses USM host memory of its own cl_context
    in place, and interior pointers into it; it copies all other memory that is set as an ordinary
    tensor (create_or_share_device_tensor in the plugin's sync_infer_request.cpp). On a discrete GPU
    that depends on its generation.
    """

    gaps = "the plugin would read them as data"
    # Observed with GPU_MEMORY_STATISTICS; a remote boolean input fails at inference.
    converts = frozenset({"float64", "uint64"})
    refuses_remote = frozenset({"bool"})
    takes_remote_batches = True

    def __init__(self, context: RemoteContext, compiled: Any) -> None:
        self._compiled = compiled
        self._surfaces: frozenset[str] | None = None
        self._cl_context = cl_context_of(context)
        kind = context.core.get_property(context.device_name, "DEVICE_TYPE")
        integrated = kind == openvino.properties.device.Type.INTEGRATED
        self.own: Placement = "in place" if integrated else "unknown"

    def look(self, native: Any, writes: bool) -> Verdict:
        """As `PlacementRules.look`."""
        if not self._cl_context:
            return Verdict("unknown")  # on Level Zero, which is not asked
        found = allocation(self._cl_context, data_address(native.data))
        if found.kind == "host":
            return Verdict(self.own)
        what = "USM shared" if found.kind == "shared" else "ordinary"
        return Verdict("copied", f"the GPU plugin copies {what} memory that is set as a tensor")

    def may_be_region(self, tensor: Tensor) -> bool:
        """As `PlacementRules.may_be_region`: whether the memory is larger than the tensor."""
        native = native_in(tensor)
        return may_be_region(native, params_of(native), tensor.info, self._cl_context)

    def reads_surface(self, port: Port) -> bool | None:
        """As `PlacementRules.reads_surface`: said of planes of NV12 and I420 alone.

        The plugin fails at the inference with the other kind. Of a compiled model Python cannot
        read the memory type that PrePostProcessor was given, but the plugin's own model of it has
        the layout nv12 where it takes images.
        """
        shape = port.shape
        plane = shape is not None and len(shape) == 4 and shape[3] in (1, 2)
        if port.kind == "output" or not plane or port.element is None:
            return None
        if port.element.name != "uint8":
            return None
        if self._surfaces is None:
            self._surfaces = _image_inputs(self._compiled)
        name = port.native.get_node().get_friendly_name()
        # Of a batch there is one for each item: name_0, name_1 ...
        return name in self._surfaces or f"{name}_0" in self._surfaces


class NpuPlacement:
    """Tensors under the NPU plugin.

    It looks ordinary ones up among the memory that it allocated or imported, where they may lie at
    any offset; else it imports whole pages; else it copies, silently. The plugin itself is asked,
    by making a remote tensor over the same bytes, which is then kept: as long as it lives, the
    memory is known, and is not imported again by each inference.
    """

    own: Placement = "in place"
    gaps = "the plugin would read them as data"
    converts: frozenset[str] = frozenset()
    refuses_remote: frozenset[str] = frozenset()
    takes_remote_batches = False

    def __init__(self, context: RemoteContext) -> None:
        self._native = context.native
        npu: Any = context  # a ZeroContext, which programs for a GPU alone do not import
        self._may_write: Callable[[int, int], bool] = npu.may_write
        self._check_not_input: Callable[[int, int], None] = npu.check_pages_not_input

    def look(self, native: Any, writes: bool) -> Verdict:
        """As `PlacementRules.look`.

        Raises:
            PropertyError: an output in a buffer that the NPU holds as INPUT.
        """
        address, nbytes = data_address(native.data), native.byte_size
        if writes:
            self._check_not_input(address, nbytes)
        if writes and not self._may_write(address, nbytes):
            return Verdict("copied", "the NPU holds these pages as INPUT, of read-only memory")
        whole_pages = not (address % mmap.PAGESIZE or nbytes % mmap.PAGESIZE)
        # One byte is not a whole page: this fails unless the memory is known already.
        known = not whole_pages or self._is_known(address)
        try:
            pin = self._import(address, nbytes, writes)
        except RuntimeError as error:
            return Verdict(
                "copied",
                f"the NPU plugin imports whole pages of {mmap.PAGESIZE} bytes only, and refuses "
                f"these {nbytes} bytes at {address:#x}: {last_line(error)}",
            )
        return Verdict("in place" if known else "imported", pin=pin)

    def may_be_region(self, tensor: Tensor) -> bool:
        """As `PlacementRules.may_be_region`: regions are used in place, or refused."""
        return False

    def reads_surface(self, port: Port) -> bool | None:
        """As `PlacementRules.reads_surface`. None: the NPU plugin has no surfaces."""
        return None

    def _is_known(self, address: int) -> bool:
        try:
            self._import(address, 1, True)
        except RuntimeError:
            return False
        return True

    def _import(self, address: int, nbytes: int, writes: bool) -> Any:
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


def _image_inputs(compiled: Any) -> frozenset[str]:
    """The inputs of the plugin's own model that take images."""
    found = compiled.get_runtime_model().get_parameters()
    return frozenset(
        parameter.get_friendly_name()
        for parameter in found
        if parameter.get_rt_info()["outputLayouts"].astype(str) == "nv12"
    )


def placement_rules(context: RemoteContext, compiled: Any) -> PlacementRules:
    """The rules of the context's plugin for a compiled model."""
    return (
        GpuPlacement(context, compiled)
        if context.device_name.startswith("GPU")
        else NpuPlacement(context)
    )
