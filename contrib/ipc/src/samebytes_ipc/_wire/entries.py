# SPDX-License-Identifier: Apache-2.0
"""Typed metadata in messages, and the tensors that inference results hold.

A tensor in memory of "dma" goes along as a descriptor. Others are written into the message, which
copies them.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import numpy as np

from samebytes import Frame, FrameMeta, Region, Tensor, TensorInfo, dtype, metadata
from samebytes.errors import CopyRequiredError, LayoutError, MetadataError
from samebytes.plugins import count_copy
from samebytes_dma import DMAPlane, DMATensor

from .._errors import MessageError
from .message import MAX_AXES, MAX_BODY, MAX_EXTENT, TENSOR_PLANE, TENSOR_VALUES, named
from .values import Value, plain

__all__ = ["describe_entries", "read_entries"]

_MAX_ENTRIES = 256
_MAX_NAME = 64
# As base64; the rest of the message needs room too.
_MAX_VALUES = MAX_BODY * 3 // 4
_EDGE = "cpu -> message (metadata)"

Holder = Frame | FrameMeta | Region


def describe_entries(
    holder: Holder, name: str, describe_plane: Callable[[DMAPlane], dict[str, Any]], copy: bool
) -> list[dict[str, Any]]:
    """The entries of a frame or region as plain data.

    Args:
        holder: the frame or region.
        name: of the list, in errors.
        describe_plane: describes memory that goes along as a descriptor.
        copy: tensors in other memory may be copied into the message.

    Raises:
        CopyRequiredError: a tensor lies in other memory.
        MessageError: an entry that is known to this process alone.
        NotHostVisibleError: a tensor that cannot be copied from where it lies.
    """
    described = []
    with named(name):
        entries = metadata.entries_of(holder)
    for number, entry in enumerate(entries):
        field = f"{name}[{number}]"

        def tensor(item: Tensor, field: str = field) -> dict[str, Any]:
            if isinstance(item, DMATensor):
                item.wait()
                return {"plane": describe_plane(item.native), "readonly": item.readonly}
            return _values_of(item, field, copy)

        try:
            document = metadata.to_plain(entry, tensor)
        except MetadataError as error:
            raise MessageError(field, str(error)) from error
        described.append(plain(document, field))
    return described


def _values_of(item: Tensor, field: str, copy: bool) -> dict[str, Any]:
    if item.dtype.numpy is None:
        raise MessageError(field, f"holds a tensor of {item.dtype}, which is not a numpy type")
    if not copy:
        raise CopyRequiredError(
            item.context.node,
            "message",
            _EDGE,
            [f"{field} holds a tensor; one of samebytes.context('dma') is passed without a copy"],
        )
    if item.info.nbytes > _MAX_VALUES:
        raise MessageError(
            field,
            f"holds a tensor of {item.info.nbytes} bytes, and a message has room for "
            f"{_MAX_VALUES}: allocate it from samebytes.context('dma'), whose memory is shared",
        )
    data = np.ascontiguousarray(item.host_array()).tobytes()
    count_copy(_EDGE, len(data))
    values = (str(item.dtype), list(item.shape), b64encode(data).decode())
    return dict(zip(TENSOR_VALUES, values, strict=True))


def read_entries(
    value: Value, read_plane: Callable[[Value, bool], Tensor | None]
) -> list[metadata.Entry]:
    """The entries that `describe_entries` described.

    Args:
        value: the list.
        read_plane: reads the description of a plane, and makes a tensor of it; the flag says
            whether that is read-only.

    Raises:
        MessageError: it is something else.
    """
    return [_read_entry(item, read_plane) for item in value.items(_MAX_ENTRIES)]


def _read_entry(value: Value, read_plane: Callable[[Value, bool], Tensor | None]) -> metadata.Entry:
    def tensor(document: Any, field: str) -> Any:
        found = Value(document, value, field)
        if found.keys() == frozenset(TENSOR_PLANE):
            plane, readonly = found.members(*TENSOR_PLANE)
            return read_plane(plane, readonly.flag())
        return _read_values(found)

    with named(value):
        return metadata.from_plain(value.limited(), tensor)


def _read_values(value: Value) -> np.ndarray[Any, Any]:
    element, shape, data = value.members(*TENSOR_VALUES)
    with named(element):
        kind = dtype(element.text(_MAX_NAME))
        if kind.numpy is None:
            raise LayoutError(f"numpy has no type for {kind}")
    extents = [n.whole(0, MAX_EXTENT) for n in shape.items(MAX_AXES)]
    with named(shape):
        info = TensorInfo(kind, extents)
    text = data.text(MAX_BODY)
    try:
        elements = b64decode(text, validate=True)
    except ValueError:
        data.fail("must be base64")
    if len(elements) != info.nbytes:
        data.fail(f"has {len(elements)} bytes, but {kind}{extents} has {info.nbytes}")
    # Over bytes it is read-only, and keeps them alive.
    array: np.ndarray[Any, Any] = np.ndarray(info.shape, kind.numpy, elements)
    if kind.kind == "bool" and array.size and array.view(np.uint8).max() > 1:
        data.fail("has a bool that is neither 0 nor 1")
    return array
