# SPDX-License-Identifier: Apache-2.0
"""Proof that two objects are over the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from samebytes import Access, Frame, Tensor

from .own_means import MEANS, Array
from .places import same_place

__all__ = ["assert_equal_values", "assert_same_bytes", "parts_of", "read", "write"]

Item = Tensor | Frame


def parts_of(item: Item) -> tuple[Tensor, ...]:
    """The tensor, or the planes."""
    return tuple(item.planes) if isinstance(item, Frame) else (item,)


def read(item: Item) -> list[Array]:
    """The elements, by the framework's own means."""
    return [MEANS[part.context.node].read(part) for part in parts_of(item)]


def write(item: Item, seed: int) -> list[Array]:
    """Write values that depend on position and seed, by the framework's own means."""
    written = []
    for number, part in enumerate(parts_of(item)):
        values = (np.arange(part.info.size) + seed + 17 * number) % 251
        new = values.reshape(part.info.shape).astype(part.info.dtype.carrier)
        MEANS[part.context.node].write(part, new)
        written.append(new)
    return written


def assert_equal_values(found: list[Array], expected: list[Array]) -> None:
    """Equal elements in the same order. OpenVINO's planes have two axes more."""
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.reshape(other.shape), other)


def assert_same_bytes(item: Item, mapped: Item, access: Access, expected: list[Array]) -> None:
    """Equal places where they are known, and writes on either side that the other side reads.

    Before each look the side that wrote hands the memory over, as the rules of access want it.

    Args:
        item: the source.
        mapped: what it was mapped to.
        access: the mode.
        expected: what the source held when it was mapped.
    """
    for source, target in zip(parts_of(item), parts_of(mapped), strict=True):
        assert target.dtype == source.dtype
        assert target.shape == _shape_in(mapped, source)
        assert same_place(_place(source), _place(target)) is not False
    if access != "w":
        assert_equal_values(read(mapped), expected)
    if access != "r":
        written = write(mapped, 90)
        mapped.flush()
        assert_equal_values(read(item), written)
    if access != "w" and not item.readonly:
        written = write(item, 180)
        mapped.flush()
        assert_equal_values(read(mapped), written)


def _shape_in(mapped: Item, source: Tensor) -> tuple[int, ...]:
    """The shape that a part has in the target.

    OpenVINO has planes of images, and images of OpenCL, as [1, rows, columns, channels].
    """
    openvino = mapped.context.memory_type == "openvino"
    plain = source.shape
    if isinstance(mapped, Frame) and len(plain) == 4:  # a plane of OpenVINO's
        plain = plain[1:3] if plain[3] == 1 else plain[1:]
    if openvino and (isinstance(mapped, Frame) or mapped.info.strides is None):
        return (1, *plain, *((1,) if len(plain) == 2 else ()))
    return plain


def _place(part: Tensor) -> Any:
    return MEANS[part.context.node].place(part)
