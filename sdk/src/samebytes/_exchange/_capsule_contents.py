# SPDX-License-Identifier: Apache-2.0
"""Read the contents of a DLPack capsule without consuming it.

Deleters and capsule destructors stay C code, the producer's on one side and numpy's on the other:
they run on any thread, while an exception is in flight and during interpreter shutdown, where a
Python callback would be entered in a state it must not be entered in.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

from .._core.native.pointers import get_pointer
from ._dlpack_abi import (
    LEGACY_NAME,
    MAJOR_VERSION,
    VERSIONED_NAME,
    DLDevice,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLTensor,
)

__all__ = [
    "VERSIONED_DEVICE_AT",
    "Content",
    "Described",
    "as_one",
    "content",
    "describe",
    "device_at",
    "number_at",
    "still_holds",
    "tensor_at",
]

# A prototype of our own: see samebytes._core.native.pointers.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)


class Content(NamedTuple):
    """The contents of an unconsumed capsule; valid while it lives and is not consumed."""

    tensor: DLTensor
    versioned: bool
    flags: int


def content(capsule: object) -> Content:
    """The tensor in `capsule`.

    Raises:
        ValueError: no unconsumed DLPack capsule, or one of a major version that is not known here.
    """
    if _is_valid(capsule, VERSIONED_NAME):
        managed = DLManagedTensorVersioned.from_address(get_pointer(capsule, VERSIONED_NAME))
        if managed.version.major != MAJOR_VERSION:
            raise ValueError(
                f"the capsule is DLPack {managed.version.major}.{managed.version.minor}, "
                f"{MAJOR_VERSION}.x was asked for"
            )
        return Content(managed.dl_tensor, True, managed.flags)
    if _is_valid(capsule, LEGACY_NAME):
        legacy = DLManagedTensor.from_address(get_pointer(capsule, LEGACY_NAME))
        return Content(legacy.dl_tensor, False, 0)
    raise ValueError(f"{capsule!r} is not a DLPack capsule, or one that was consumed before")


# The address of what a capsule holds, and its fields: major and minor version, context, deleter,
# flags (all 0 in a legacy capsule, which lacks most of them), and those of DLTensor: data, device
# type, device id, ndim, code, bits, lanes, the addresses of shape and strides, byte offset.
# Plain tuples, since to make a named one takes as long as to read the fields.
Described = tuple[int, tuple[int, ...]]

# The structures' fields, unpacked at once: ctypes takes longer for each than this for all.
_TENSOR = "PiiiBBHPPQ"
_LEGACY = Struct(f"@{_TENSOR}")
_VERSIONED = Struct(f"@IIPPQ{_TENSOR}")
_legacy_at: Any = (ctypes.c_char * _LEGACY.size).from_address
_versioned_at: Any = (ctypes.c_char * _VERSIONED.size).from_address
_TENSOR_AT = DLManagedTensorVersioned.dl_tensor.offset
VERSIONED_DEVICE_AT = _TENSOR_AT + DLTensor.device.offset
"""Bytes from the address of what a versioned capsule holds to its DLDevice."""
number_at = ctypes.c_uint64.from_address
"""The number of 64 bits at an address, to be read or changed."""


def describe(capsule: object) -> Described:
    """As `content`, in a third of its time.

    Raises:
        ValueError: as `content`.
    """
    try:
        at = get_pointer(capsule, VERSIONED_NAME)
    except ValueError:
        content(capsule)  # says what is wrong with it
        at = get_pointer(capsule, LEGACY_NAME)
        return at, (0, 0, 0, 0, 0, *_LEGACY.unpack_from(_legacy_at(at)))
    fields = _VERSIONED.unpack_from(_versioned_at(at))
    if fields[0] != MAJOR_VERSION:
        content(capsule)
    return at, fields


def tensor_at(found: Described) -> DLTensor:
    """The DLTensor of an unconsumed capsule, to be changed."""
    at, fields = found
    return DLTensor.from_address(at + _TENSOR_AT if fields[0] else at)


def device_at(at: int, versioned: int) -> ctypes.c_uint64:
    """The DLDevice of what an unconsumed capsule holds at an address, to be changed.

    Both of its numbers in one; `versioned` is the first of the fields.
    """
    return number_at(at + (VERSIONED_DEVICE_AT if versioned else DLTensor.device.offset))


@cache
def as_one(device: tuple[int, int]) -> int:
    """A DLDevice, its type and its id, in one number: what `device_at` is set to."""
    return int.from_bytes(bytes(DLDevice(*device)), sys.byteorder)


def still_holds(capsule: object) -> bool:
    """True if nobody has consumed the capsule yet."""
    return bool(_is_valid(capsule, VERSIONED_NAME) or _is_valid(capsule, LEGACY_NAME))
