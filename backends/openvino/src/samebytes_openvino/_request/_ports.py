# SPDX-License-Identifier: Apache-2.0
"""The inputs and outputs of a compiled model."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import openvino

from samebytes import DType, TensorInfo
from samebytes.errors import LayoutError, UnknownNameError, UnsupportedObjectError

from .._host._layout import from_element_type

__all__ = [
    "Port",
    "as_index",
    "find_named_port",
    "find_port",
    "ports_by_name",
    "ports_of",
    "tensors_by_port",
]


@dataclass(frozen=True, slots=True, eq=False)
class Port:
    """One input or output.

    Attributes:
        kind: which of the two it is.
        index: among the inputs, or among the outputs.
        names: all of its names; the first one is used in messages.
        native: the openvino.ConstOutput.
        element: None for strings, which cannot be shared.
        shape: None if some dimension of it is dynamic.
        strides: bytes between the elements of a dense tensor, along each axis; None for a dynamic
            shape, strings, and elements below eight bits.
        type: the openvino.Type.
        dense: it is an input that takes one layout of memory, which is dense and not empty.
    """

    kind: Literal["input", "output"]
    index: int
    names: tuple[str, ...]
    native: Any
    element: DType | None
    shape: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    type: Any
    dense: bool

    @property
    def name(self) -> str:
        """Its first name, or its number."""
        return self.names[0] if self.names else str(self.index)

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"


def ports_of(kind: Literal["input", "output"], natives: Sequence[Any]) -> tuple[Port, ...]:
    """The ports of `CompiledModel.inputs` or `CompiledModel.outputs`."""
    return tuple(_port(kind, index, native) for index, native in enumerate(natives))


def ports_by_name(ports: Sequence[Port]) -> dict[str, Port]:
    """The ports by each of their names; of two with the same name, the first."""
    return {name: port for port in reversed(ports) for name in port.names}


def as_index(key: Any) -> int | None:
    """`key` if it is a whole number of any type, numpy's too; None for all else, and for bools."""
    if type(key) is int:
        return key
    if isinstance(key, bool | np.bool_ | str):
        return None
    try:
        return operator.index(key)
    except TypeError:
        return None


def find_port(ports: Sequence[Port], key: Any) -> Port:
    """The port of that name or index, or of that port object of the model.

    Raises:
        UnknownNameError: there is none; the message suggests the nearest names.
        UnsupportedObjectError: `key` is none of these.
    """
    if type(key) is int and 0 <= key < len(ports):  # the most frequent case
        return ports[key]
    if isinstance(key, str):
        for port in ports:
            if key in port.names:
                return port
    kinds = " or ".join(dict.fromkeys(p.kind for p in ports)) or "port"
    if isinstance(key, str):
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
        f"{key!r} does not name a port: pass a name, an index or a port of the compiled model"
    )


def find_named_port(ports: Sequence[Port], key: Any, verb: str) -> Port:
    """The port of that name or port object, among inputs and outputs.

    Args:
        verb: of the methods that take an index: "get" or "set".

    Raises:
        UnknownNameError: there is none.
        UnsupportedObjectError: `key` is an index, which could be that of either, or none of these.
    """
    if as_index(key) is not None:
        raise UnsupportedObjectError(
            f"index {key} could be an input or an output: use {verb}_input_tensor() or "
            f"{verb}_output_tensor()"
        )
    return find_port(ports, key)


def tensors_by_port(ports: Sequence[Port], inputs: Any) -> list[tuple[Any, Any]]:
    """The tensors that are passed to an inference, and the name, index or port of each.

    Args:
        ports: the inputs of the model.
        inputs: a mapping of them to tensors, a sequence of tensors, or one tensor.

    Raises:
        LayoutError: a sequence of another length than the model has inputs.
    """
    if isinstance(inputs, Mapping):
        return list(inputs.items())
    tensors = inputs if isinstance(inputs, list | tuple) else [inputs]
    if len(tensors) != len(ports):
        names = ", ".join(port.name for port in ports)
        raise LayoutError(
            f"{len(tensors)} tensors for {len(ports)} inputs ({names}): pass one for each, or a "
            "mapping of names to tensors"
        )
    return list(enumerate(tensors))


def _port(kind: Literal["input", "output"], index: int, native: Any) -> Port:
    names = tuple(sorted(native.names))
    shape = tuple(native.shape) if native.partial_shape.is_static else None
    if native.element_type == openvino.Type.string:
        return Port(kind, index, names, native, None, shape, None, native.element_type, False)
    element = from_element_type(native.element_type)
    strides = None if shape is None else TensorInfo(element, shape).strides
    dense = kind == "input" and strides is not None and 0 not in (shape or ())
    return Port(kind, index, names, native, element, shape, strides, native.element_type, dense)
