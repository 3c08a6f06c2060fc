# SPDX-License-Identifier: Apache-2.0
"""The inputs and outputs of a compiled model, and what may be bound to them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import openvino

from samebytes import DType, Tensor
from samebytes.errors import LayoutError, UnknownNameError, UnsupportedObjectError

from ._element_types import from_element_type

__all__ = ["Port", "as_index", "check_batch", "check_layout", "find_port", "ports_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Port:
    """One input or output.

    Attributes:
        index: among the inputs, or among the outputs.
        names: all of its names; the first one is used in messages.
        native: the openvino.ConstOutput.
        element: None for strings, which cannot be shared.
        shape: None if some dimension of it is dynamic.
    """

    kind: Literal["input", "output"]
    index: int
    names: tuple[str, ...]
    native: Any
    element: DType | None
    shape: tuple[int, ...] | None

    @property
    def name(self) -> str:
        """Its first name, or its number."""
        return self.names[0] if self.names else str(self.index)

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"


def ports_of(kind: Literal["input", "output"], natives: Sequence[Any]) -> tuple[Port, ...]:
    """The ports of `CompiledModel.inputs` or `CompiledModel.outputs`."""
    return tuple(_port(kind, index, native) for index, native in enumerate(natives))


def as_index(key: Any) -> int | None:
    """`key` if it is a whole number of any type, numpy's too; None for all else, and for bools."""
    if isinstance(key, bool):
        return None
    try:
        return operator.index(key)
    except TypeError:
        return None


def find_port(ports: Sequence[Port], key: Any) -> Port:
    """The port of that name or index, or of that port object of the model.

    Raises:
        UnknownNameError: there is none; the message tells the nearest names.
        UnsupportedObjectError: `key` is nothing of the above.
    """
    kinds = " or ".join(dict.fromkeys(p.kind for p in ports)) or "port"
    if isinstance(key, str):
        for port in ports:
            if key in port.names:
                return port
        raise UnknownNameError(f"{kinds} of the model", key, [n for p in ports for n in p.names])
    index = as_index(key)
    if index is not None:
        if 0 <= index < len(ports):
            return ports[index]
        raise UnknownNameError(f"{kinds} of the model", str(index), [str(p.index) for p in ports])
    if isinstance(key, openvino.ConstOutput | openvino.Output):
        for port in ports:
            if key == port.native:
                return port
        # A port of the model before compilation is another object, with the same names.
        for port in ports:
            if not key.names.isdisjoint(port.names):
                return port
        raise UnknownNameError(
            f"{kinds} of the model", ", ".join(sorted(key.names)), [p.name for p in ports]
        )
    raise UnsupportedObjectError(
        f"{key!r} names no port: pass a name, an index or a port of the compiled model"
    )


def check_layout(port: Port, tensor: Tensor) -> None:
    """Raise LayoutError unless dtype and shape of `tensor` are those of the port."""
    if port.element is None:
        raise LayoutError(f"{port} holds strings, which cannot be shared: set them with OpenVINO")
    info = tensor.info
    fits = (
        info.shape == port.shape
        if port.shape is not None
        else port.native.partial_shape.compatible(openvino.PartialShape(list(info.shape)))
    )
    if not fits or info.dtype is not port.element:
        shape = list(port.shape) if port.shape is not None else str(port.native.partial_shape)
        raise LayoutError(
            f"{port} takes {port.element} {shape}, and the tensor is {info.dtype} "
            f"{list(info.shape)}"
        )


def check_batch(port: Port, parts: Sequence[Tensor]) -> None:
    """Raise LayoutError unless the tensors are the items of one batch, one for each."""
    if port.kind != "input":
        raise LayoutError(f"{port}: only inputs are set as a batch of tensors")
    if port.shape is None or not port.shape:
        raise LayoutError(
            f"{port} has the shape {port.native.partial_shape}: a batch needs a fixed one, see "
            "openvino.set_batch(model, items)"
        )
    items, *rest = port.shape
    if len(parts) != items:
        raise LayoutError(f"{port} takes a batch of {items}, and these are {len(parts)} tensors")
    for index, part in enumerate(parts):
        info = part.info
        if info.shape != (1, *rest) or info.dtype is not port.element:
            raise LayoutError(
                f"item {index} of a batch for {port} must be {port.element} {[1, *rest]}, and is "
                f"{info.dtype} {list(info.shape)}"
            )


def _port(kind: Literal["input", "output"], index: int, native: Any) -> Port:
    partial = native.partial_shape
    is_string = native.element_type == openvino.Type.string
    return Port(
        kind,
        index,
        tuple(sorted(native.names)),
        native,
        None if is_string else from_element_type(native.element_type),
        tuple(native.shape) if partial.is_static else None,
    )
