# SPDX-License-Identifier: Apache-2.0
"""The rules that memory that was mapped with access "r" cannot be written."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from ..._core.memory.tensor import Tensor
from ...errors import AccessError, NoRouteError
from .book import BrokenRule, rule
from .subjects import Array, Item, planes_of

__all__ = [
    "identity_is_readonly", "mapping_is_readonly", "mapping_is_writable", "native_stays_readonly",
]  # fmt: skip


@rule(
    "10.1",
    'what is mapped to itself with "r" is read-only',
    means="a part of a program that should only read can write",
    do="readonly_native(native) returns an object that cannot be written, if the framework has any",
)
def identity_is_readonly(item: Item) -> None:
    """Map a writable tensor or frame to its own context, and look for a way to write."""
    if item.readonly or any(plane.readonly for plane in planes_of(item)):
        raise BrokenRule("writable memory is read-only before it is mapped")
    _require_readonly(item.map(item.context, "r"))


@rule(
    "10.2",
    "read-only memory stays read-only",
    means="a part of a program that should only read can write through another framework",
    do='for access "r", connect() returns a native object that cannot be written: of an array, a '
    "view with flags.writeable = False",
)
def mapping_is_readonly(mapped: Item, views: Sequence[Array] = ()) -> None:
    """Look for a way to write to an object that was mapped for reading.

    Args:
        views: its elements as its framework shows them, if that can show them read-only.
    """
    _require_readonly(mapped)
    for number, view in enumerate(views):
        if view.flags.writeable:
            raise BrokenRule(f"the framework's view of plane {number} can be written")


@rule(
    "10.3",
    "what its framework made read-only is read-only",
    means="a user writes to memory that must not be written: the process ends with SIGSEGV or "
    "SIGBUS, or others see it change",
    do="wrap() passes it on: borrowed(native, context, readonly=native.readonly)",
)
def native_stays_readonly(tensor: Tensor) -> None:
    """Look at a tensor over a native object that its framework made read-only."""
    if not tensor.readonly:
        raise BrokenRule(f"{tensor!r} is not read-only, and its native object is")
    _require_readonly(tensor.map(tensor.context, "r"))
    for access in ("w", "rw"):
        try:
            tensor.map(tensor.context, access)
        except AccessError:
            continue
        raise BrokenRule(f'it was mapped with access "{access}"')
    with suppress(BufferError):  # the CPU cannot read it
        if np.asarray(tensor).flags.writeable:
            raise BrokenRule("numpy.asarray() of it can be written")


@rule(
    "10.4",
    'what is mapped with "w" or "rw" can be written',
    means="users who asked for writing get an error when they write",
    do='only for access "r" does connect() return a native object that cannot be written',
)
def mapping_is_writable(mapped: Item, views: Sequence[Array]) -> None:
    """Look at an object that was mapped for writing.

    Args:
        views: its elements in place, plane by plane.
    """
    if mapped.readonly or any(plane.readonly for plane in planes_of(mapped)):
        raise BrokenRule("what was mapped is readonly")
    for number, view in enumerate(views):
        if not view.flags.writeable:
            raise BrokenRule(f"the view of plane {number} cannot be written")


def _require_readonly(mapped: Item) -> None:
    if not mapped.readonly or not all(plane.readonly for plane in planes_of(mapped)):
        raise BrokenRule("what was mapped is not readonly")
    natives = mapped.native if isinstance(mapped.native, tuple) else (mapped.native,)
    if any(isinstance(n, np.ndarray) and n.flags.writeable for n in natives):
        raise BrokenRule("its native array can be written")
    try:
        mapped.map(mapped.context, "rw")
    except (AccessError, NoRouteError):
        return
    raise BrokenRule('mapped for reading, it was mapped again with "rw"')
