# SPDX-License-Identifier: Apache-2.0
"""What the ports of a request read and write. OpenVINO holds none of it, so it is held here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

import samebytes
from samebytes import Context, Frame, Tensor
from samebytes.errors import CopyRequiredError, LayoutError, UnsupportedObjectError
from samebytes.plugins import Access, count_copy, data_address

from ._busy import BUSY_TOLD
from ._context import OPENVINO
from ._ports import Port, check_batch, check_layout
from ._tensor import OpenVINOTensor

__all__ = ["Binding", "Bindings", "Placement", "check_fixed_shape", "check_kind", "check_output",
           "mapped"]  # fmt: skip

_Source = TypeVar("_Source", Tensor, Frame)

Placement = Literal["in place", "imported", "copied", "unknown"]


@dataclass(frozen=True, slots=True)
class Binding:
    """What a port of a request reads or writes.

    Attributes:
        kind: "input" or "output".
        name: of the port.
        tensor: what was set; None where the request uses memory of its own.
        placement: "in place" if the device is given the tensor's own memory; "imported" if the
            NPU plugin makes pages of the CPU's its own, which is no copy either; "copied" if the
            tensor was copied when it was set, or is copied by the plugin at each inference, both
            of which took copy=True; "unknown" where OpenVINO does not tell: on devices other than
            CPU, GPU and NPU, on discrete GPUs for memory of the CPU, and for a native remote
            tensor that is smaller than its memory, which may be a region that the plugin copies.
            A model whose first operation would overwrite an input makes the CPU plugin copy that
            input by itself, which OpenVINO does not report.
        batch: what was set as a batch, one tensor for each item.
    """

    kind: Literal["input", "output"]
    name: str
    tensor: Tensor | None
    placement: Placement
    batch: tuple[Tensor, ...] = ()


class Bindings:
    """The tensors that were set on one openvino.InferRequest of a device that reads CPU memory.

    Attributes:
        must_run_async: an output is bound to memory that OpenVINO's infer() cannot return.
    """

    __slots__ = ("_batches", "_copied", "_copies", "_given", "_native", "_on_cpu", "_set",
                 "must_run_async")  # fmt: skip

    def __init__(self, native: Any, on_cpu: bool) -> None:
        self._native = native
        self._on_cpu = on_cpu
        self.must_run_async = False
        # What the user set, and what OpenVINO was given for it: the same, or a dense copy.
        self._set: dict[Port, Tensor] = {}
        self._given: dict[Port, Tensor] = {}
        self._copied: set[Port] = set()
        self._batches: dict[Port, tuple[Tensor, ...]] = {}
        # Kept, so that every frame is copied to the same memory.
        self._copies: dict[Port, Tensor] = {}

    def bind(self, port: Port, value: Any, copy: bool, copied: bool = False) -> None:
        """Give `value` to OpenVINO, and hold it. `InferRequest.set_tensor` lists the errors.

        Args:
            copied: `value` is a copy already, of what the user gave.
        """
        writes = port.kind == "output"
        check_kind(port, value)
        source = value if isinstance(value, Tensor) else samebytes.tensor(value)
        tensor, mapped_copy = mapped(source, "w" if writes else "r", copy and not writes)
        copied |= mapped_copy
        check_layout(port, tensor)
        given = tensor
        if writes:
            check_output(port, tensor)
        elif not tensor.native.is_continuous():
            if not copy:
                raise CopyRequiredError(tensor.memory_type, str(port), f"openvino -> {port}", [
                    f"strides {tensor.strides} leave gaps; the plugin would copy it unasked"
                ])  # fmt: skip
            given, copied = self._densely(port, tensor), True
        with BUSY_TOLD:
            self._native.set_tensor(port.native, given.native)
        self._set[port] = tensor
        self._given[port] = given
        (self._copied.add if copied else self._copied.discard)(port)
        if self._batches:
            self._batches.pop(port, None)

    def bind_batch(self, port: Port, values: Sequence[Any], copy: bool) -> None:
        """Give OpenVINO one tensor for each item of a batch, and hold them.

        `InferRequest.set_tensors` lists the errors.
        """
        parts = self._parts(port, values)
        if len(parts) == 1:
            self.bind(port, parts[0], copy)
        else:
            self._bind_merged(port, parts, copy)

    def planes_of(self, frame: Frame, copy: bool) -> tuple[tuple[Tensor, ...], bool]:
        """The planes of a frame in memory that can be bound, and whether that took a copy."""
        ours, copied = mapped(frame, "r", copy)
        return ours.planes, copied

    def tensor_of(self, port: Port) -> Tensor:
        """What was set, or else a tensor over the request's own memory."""
        tensor = self._set.get(port)
        if tensor is not None:
            return tensor.map("openvino", "rw" if port.kind == "output" else "r")
        if port.element is None:
            raise LayoutError(f"{port} holds strings, which cannot be shared: get them natively")
        # OpenVINO shares the ownership of memory that it allocated with this object.
        with BUSY_TOLD:
            native = self._native.get_tensor(port.native)
        return OpenVINOTensor(native, OPENVINO, self._native, None, False)

    def output_context(self, ports: Sequence[Port]) -> Context | None:
        """Where the outputs lie, or None if they lie in different memory."""
        return OPENVINO

    def report(self, port: Port) -> Binding:
        """How the port is bound."""
        tensor = self._set.get(port)
        placement: Placement = "unknown"
        if port in self._copied:
            placement = "copied"
        elif self._on_cpu and (tensor is None or self._at_its_address(port, tensor)):
            placement = "in place"
        return Binding(port.kind, port.name, tensor, placement, self._batches.get(port, ()))

    def count_plugin_copies(self) -> None:
        """Count what the plugin copied in the inference that was just started."""

    def flush_outputs(self) -> None:
        """Publish what an inference wrote to memory of other frameworks."""
        for port, tensor in self._given.items():
            if port.kind == "output":
                tensor.flush()

    def _at_its_address(self, port: Port, tensor: Tensor) -> bool:
        if port.element is None:
            return False
        with BUSY_TOLD:
            there = data_address(self._native.get_tensor(port.native).data)
        return bool(there == tensor.handle("data"))

    def _parts(self, port: Port, values: Sequence[Any]) -> list[Tensor]:
        for value in values:
            check_kind(port, value)
        parts = [v if isinstance(v, Tensor) else samebytes.tensor(v) for v in values]
        check_batch(port, parts)
        return parts

    def _bind_merged(self, port: Port, parts: Sequence[Tensor], copy: bool) -> None:
        if not copy:
            reason = (
                f"{len(parts)} tensors become one piece of memory: allocate the batch as one "
                "tensor, and write each item to its part"
            )
            edge = f"openvino -> {port}"
            raise CopyRequiredError(parts[0].memory_type, str(port), edge, [reason])
        hosts = [mapped(part, "r", True)[0] for part in parts]
        dense = self._dense(port, (len(parts), *parts[0].shape[1:]), parts[0])
        whole = dense.host_array()
        for index, host in enumerate(hosts):
            np.copyto(whole[index : index + 1], host.host_array())
        count_copy(f"openvino -> {port}", dense.info.nbytes)
        with BUSY_TOLD:
            self._native.set_tensor(port.native, dense.native)
        self._set[port] = self._given[port] = dense
        self._copied.add(port)
        self._batches[port] = tuple(parts)

    def _densely(self, port: Port, tensor: Tensor) -> Tensor:
        dense = self._dense(port, tensor.shape, tensor)
        np.copyto(dense.host_array(), tensor.host_array())
        count_copy(f"openvino -> {port}", tensor.info.nbytes)
        return dense

    def _dense(self, port: Port, shape: tuple[int, ...], like: Tensor) -> Tensor:
        dense = self._copies.get(port)
        if dense is None or dense.shape != shape:
            dense = self._copies[port] = self._allocate(shape, like)
        return dense

    def _allocate(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        return OPENVINO.allocate(shape, like.dtype)


def mapped(source: _Source, access: Access, copy: bool) -> tuple[_Source, bool]:
    """`source` in OpenVINO's memory, and whether that took a copy."""
    try:
        return source.map("openvino", access), False
    except CopyRequiredError:
        if not copy:
            raise
    return source.map("openvino", access, copy=True), True


def check_kind(port: Port, value: Any) -> None:
    """Raise UnsupportedObjectError unless `value` may be a tensor."""
    if isinstance(value, Frame):
        raise UnsupportedObjectError(
            f"{port} takes one tensor, and this is a frame: use set_frame(), or set its planes"
        )


def check_output(port: Port, tensor: Tensor) -> None:
    """Raise LayoutError unless an inference can write its output to `tensor`."""
    check_fixed_shape(port)
    if not tensor.native.is_continuous():
        raise LayoutError(
            f"{port} is written in place to dense memory only, and strides {tensor.strides} leave "
            "gaps: set a dense tensor, and copy from it"
        )


def check_fixed_shape(port: Port) -> None:
    """Raise LayoutError if the size of an output is only known when it is there."""
    if port.shape is None:
        raise LayoutError(
            f"{port} has a dynamic shape {port.native.partial_shape}: OpenVINO writes it to memory "
            "of its own and would copy it; read it with get_tensor() or outputs()"
        )
