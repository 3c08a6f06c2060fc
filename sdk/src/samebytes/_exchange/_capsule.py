# SPDX-License-Identifier: Apache-2.0
"""Read the contents of a DLPack capsule without consuming it.

Deleters and capsule destructors stay C code, the producer's on one side and numpy's on the other:
they run on any thread, while an exception is in flight and during interpreter shutdown, where a
Python callback would be entered in a state it must not be entered in.
"""

from __future__ import annotations

import ctypes
import struct
from typing import NamedTuple

from .._core.capsules import get_pointer
from ._dlpack_abi import (
    LEGACY_NAME,
    MAJOR_VERSION,
    VERSIONED_NAME,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLTensor,
)

__all__ = ["Content", "content", "still_holds"]

# A prototype of our own: see samebytes._core.capsules.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)


# Of a DLManagedTensorVersioned, around the pointers of its producer.
_VERSION_AND_FLAGS = struct.Struct("II8x8xQ").unpack_from


class Content(NamedTuple):
    """What an unconsumed capsule holds; valid while the capsule lives and is not consumed."""

    tensor: DLTensor
    versioned: bool
    flags: int


def content(capsule: object) -> Content:
    """The tensor in `capsule`.

    Raises:
        ValueError: no unconsumed DLPack capsule, or one of a major version that is not known here.
    """
    try:  # this refuses other names itself, and most producers are of DLPack 1.0 or later
        managed = DLManagedTensorVersioned.from_address(get_pointer(capsule, VERSIONED_NAME))
    except ValueError:
        pass
    else:
        major, minor, flags = _VERSION_AND_FLAGS(managed)
        if major != MAJOR_VERSION:
            raise ValueError(
                f"the capsule is DLPack {major}.{minor}, {MAJOR_VERSION}.x was asked for"
            )
        return Content(managed.dl_tensor, True, flags)
    if _is_valid(capsule, LEGACY_NAME):
        legacy = DLManagedTensor.from_address(get_pointer(capsule, LEGACY_NAME))
        return Content(legacy.dl_tensor, False, 0)
    raise ValueError(f"{capsule!r} is not a DLPack capsule, or one that was consumed before")


def still_holds(capsule: object) -> bool:
    """Whether nobody has consumed the capsule yet."""
    return bool(_is_valid(capsule, VERSIONED_NAME) or _is_valid(capsule, LEGACY_NAME))
