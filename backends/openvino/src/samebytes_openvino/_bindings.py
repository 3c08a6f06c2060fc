# SPDX-License-Identifier: Apache-2.0
"""What the ports of a request read and write. OpenVINO holds none of it, so it is held here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

import samebytes
from samebytes import Frame, Tensor
from samebytes.errors import CopyRequiredError, LayoutError, UnsupportedObjectError
from samebytes.plugins import Access, count_copy, data_address

from ._busy import BUSY_TOLD
from ._context import OPENVINO
from ._ports import Port, check_layout
from ._tensor import OpenVINOTensor

__all__ = ["Binding", "Bindings", "mapped"]

_Source = TypeVar("_Source", Tensor, Frame)


@dataclass(frozen=True, slots=True)
class Binding:
    """What a port of a request reads or writes.

    Attributes:
        kind: "input" or "output".
        name: of the port.
        tensor: what was set; None where the request uses memory of its own.
        placement: "in place" if the CPU plugin is given the tensor's own address; "copied" if
            the tensor was copied when it was set, which took copy=True; "unknown" on other
            devices. A model whose first operation would overwrite an input makes the CPU plugin
            copy that input by itself, which OpenVINO does not report.
    """

    kind: Literal["input", "output"]
    name: str
    tensor: Tensor | None
    placement: Literal["in place", "copied", "unknown"]


class Bindings:
    """The tensors that were set on one openvino.InferRequest."""

    __slots__ = ("_copied", "_copies", "_given", "_native", "_on_cpu", "_set")

    def __init__(self, native: Any, on_cpu: bool) -> None:
        self._native = native
        self._on_cpu = on_cpu
        # What the user set, and what OpenVINO was given for it: the same, or a dense copy.
        self._set: dict[Port, Tensor] = {}
        self._given: dict[Port, Tensor] = {}
        self._copied: set[Port] = set()
        # Kept, so that every frame is copied to the same memory.
        self._copies: dict[Port, Tensor] = {}

    def bind(self, port: Port, value: Any, copy: bool, copied: bool = False) -> None:
        """Give `value` to OpenVINO, and hold it. `InferRequest.set_tensor` lists the errors.

        Args:
            copied: `value` is a copy already, of what the user gave.
        """
        writes = port.kind == "output"
        _check_kind(port, value)
        source = value if isinstance(value, Tensor) else samebytes.tensor(value)
        tensor, mapped_copy = mapped(source, "w" if writes else "r", copy and not writes)
        copied |= mapped_copy
        check_layout(port, tensor)
        given = tensor
        if writes:
            _check_output(port, tensor)
        elif not tensor.native.is_continuous():
            if not copy:
                raise CopyRequiredError(tensor.memory_type, str(port), f"openvino -> {port}", [
                    f"strides {tensor.strides} leave gaps; the plugin would copy it unasked"
                ])  # fmt: skip
            given, copied = self._dense(port, tensor), True
        with BUSY_TOLD:
            self._native.set_tensor(port.native, given.native)
        self._set[port] = tensor
        self._given[port] = given
        (self._copied.add if copied else self._copied.discard)(port)

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

    def report(self, port: Port) -> Binding:
        """How the port is bound."""
        tensor = self._set.get(port)
        placement: Literal["in place", "copied", "unknown"] = "unknown"
        if port in self._copied:
            placement = "copied"
        elif self._on_cpu and (tensor is None or self._at_its_address(port, tensor)):
            placement = "in place"
        return Binding(port.kind, port.name, tensor, placement)

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

    def _dense(self, port: Port, tensor: Tensor) -> Tensor:
        dense = self._copies.get(port)
        if dense is None or dense.shape != tensor.shape:
            dense = self._copies[port] = OPENVINO.allocate(tensor.shape, tensor.dtype)
        np.copyto(dense.host_array(), tensor.host_array())
        count_copy(f"openvino -> {port}", tensor.info.nbytes)
        return dense


def mapped(source: _Source, access: Access, copy: bool) -> tuple[_Source, bool]:
    """`source` in OpenVINO's memory, and whether that took a copy."""
    try:
        return source.map("openvino", access), False
    except CopyRequiredError:
        if not copy:
            raise
    return source.map("openvino", access, copy=True), True


def _check_kind(port: Port, value: Any) -> None:
    if isinstance(value, Frame):
        raise UnsupportedObjectError(
            f"{port} takes one tensor, and this is a frame: use set_frame(), or set its planes"
        )


def _check_output(port: Port, tensor: Tensor) -> None:
    if port.shape is None:
        raise LayoutError(
            f"{port} has a dynamic shape {port.native.partial_shape}: OpenVINO writes it to memory "
            "of its own and would copy it; read it with get_tensor() or outputs()"
        )
    if not tensor.native.is_continuous():
        raise LayoutError(
            f"{port} is written in place to dense memory only, and strides {tensor.strides} leave "
            "gaps: set a dense tensor, and copy from it"
        )
