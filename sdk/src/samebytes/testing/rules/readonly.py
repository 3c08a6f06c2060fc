# SPDX-License-Identifier: Apache-2.0
"""What was mapped with access "r" cannot be written to."""

from __future__ import annotations

import numpy as np

from ...errors import AccessError, NoRouteError
from .book import BrokenRule, rule
from .subjects import Item, planes_of

__all__ = ["identity_is_readonly", "mapping_is_readonly"]


@rule(
    "10.1",
    'what is mapped to itself with "r" is read-only',
    means="a part of a program that was to read only can write",
    do="readonly_native(native) returns an object that cannot be written, where there is such",
)
def identity_is_readonly(item: Item) -> None:
    """Map a writable tensor or frame to its own context, and look for a way to write."""
    if item.readonly or any(plane.readonly for plane in planes_of(item)):
        raise BrokenRule("writable memory is read-only before it is mapped")
    _require_readonly(item.map(item.context, "r"))


@rule(
    "10.2",
    "read-only memory stays read-only",
    means="a part of a program that was to read only can write through another framework",
    do='for access "r", connect() returns a native object that cannot be written: of an array, a '
    "view with flags.writeable = False",
)
def mapping_is_readonly(mapped: Item) -> None:
    """Look for a way to write to what was mapped for reading."""
    _require_readonly(mapped)


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
