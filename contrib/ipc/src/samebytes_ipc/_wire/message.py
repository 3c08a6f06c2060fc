# SPDX-License-Identifier: Apache-2.0
"""Messages: their header, the descriptors that they announce, and the checks of both.

See docs/reference/wire-format.md.
"""

from __future__ import annotations

import reprlib
import struct
from dataclasses import dataclass
from typing import Protocol

from samebytes import FrameMeta, TensorInfo
from samebytes.errors import SamebytesError

from .._errors import MessageError

__all__ = [
    "FRAME",
    "HEADER_SIZE",
    "IMAGE",
    "MAX_AXES",
    "MAX_BODY",
    "MAX_DESCRIPTORS",
    "MAX_EXTENT",
    "META",
    "PLANE",
    "REGION",
    "TENSOR_PLANE",
    "TENSOR_VALUES",
    "VERSION",
    "Description",
    "PlaneDescription",
    "named",
    "pack_header",
    "shown",
    "unpack_header",
]

# The magic, the version, how many descriptors come along, how many bytes follow.
_HEADER = struct.Struct("<4sHHI")
_MAGIC = b"SBDM"

HEADER_SIZE = _HEADER.size
VERSION = 1
MAX_BODY = 1 << 16
MAX_AXES = 16
MAX_EXTENT = (1 << 31) - 1
"""Elements along an axis, and pixels."""
MAX_DESCRIPTORS = 64
"""The kernel passes 253 at most (SCM_MAX_FD, net/scm.h); no image has more than a few."""

# The members of the objects in a message.
PLANE = ("buffer", "dtype", "shape", "strides", "offset", "pitch", "modifier")
META = ("regions", "metadata", "entries")
FRAME = ("planes", "image", "pts", "time_base", *META)
IMAGE = ("format", "width", "height")
REGION = ("x", "y", "width", "height", "label", "confidence", "metadata", "entries")
# A tensor of an inference result: memory that goes along, or the elements.
TENSOR_PLANE = ("plane", "readonly")
TENSOR_VALUES = ("dtype", "shape", "data")


class Named(Protocol):
    """An object that knows the name of its field."""

    @property
    def name(self) -> str:
        """The name of the field, for errors."""


class named:  # noqa: N801 - it is used as a function; a generator would take three times as long
    """Errors of samebytes that are raised inside become those of a field.

    Args:
        field: its name, or an object that has it as `name`.
    """

    __slots__ = ("_field",)

    def __init__(self, field: str | Named) -> None:
        self._field = field

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, SamebytesError) and not isinstance(error, MessageError):
            field = self._field if isinstance(self._field, str) else self._field.name
            raise MessageError(field, str(error)) from error


def shown(value: object) -> str:
    """A received value in an error message, cut short."""
    return reprlib.repr(value)


@dataclass(frozen=True, slots=True)
class PlaneDescription:
    """The place of one array.

    Attributes:
        buffer: the number of the message's descriptor that it lies behind.
        info, offset, pitch, modifier: as for a DMAPlane.
    """

    buffer: int
    info: TensorInfo
    offset: int
    pitch: int | None
    modifier: int


@dataclass(frozen=True, slots=True)
class Description:
    """A tensor or a frame without its memory.

    Attributes:
        planes: the one of a tensor, or those of a frame.
        meta: what is known of a frame; None for a tensor.
        readonly: whether the sender's object was.
    """

    planes: tuple[PlaneDescription, ...]
    meta: FrameMeta | None
    readonly: bool


def pack_header(descriptors: int, nbytes: int) -> bytes:
    """The header of a body of `nbytes`.

    Raises:
        MessageError: more than a message may have.
    """
    _check(descriptors, nbytes)
    return _HEADER.pack(_MAGIC, VERSION, descriptors, nbytes)


def unpack_header(header: bytes) -> tuple[int, int]:
    """Return the numbers of descriptors in a message and of bytes that follow the header.

    Raises:
        MessageError: it is not a header, has another version, or announces more than a message
            may have.
    """
    magic, version, descriptors, nbytes = _HEADER.unpack(header)
    if magic != _MAGIC:
        raise MessageError(
            "magic", f"{shown(magic)} does not begin a message of samebytes_ipc.send()"
        )
    if version != VERSION:
        raise MessageError(
            "version",
            f"{version}, but this samebytes-ipc supports {VERSION}: use one release on both ends",
        )
    _check(descriptors, nbytes)
    return descriptors, nbytes


def _check(descriptors: int, nbytes: int) -> None:
    if not 1 <= descriptors <= MAX_DESCRIPTORS:
        raise MessageError(
            "descriptors",
            f"header announces {descriptors}, but a message has 1 to {MAX_DESCRIPTORS}",
        )
    if not 1 <= nbytes <= MAX_BODY:
        raise MessageError("length", f"is {nbytes} bytes, but a description has 1 to {MAX_BODY}")
