# SPDX-License-Identifier: Apache-2.0
"""The header of a message, and how large a message may be. See docs/reference/dma-wire.md."""

from __future__ import annotations

import struct

from .errors import MessageError, shown

__all__ = ["HEADER_SIZE", "MAX_BODY", "MAX_DESCRIPTORS", "VERSION", "pack_header", "unpack_header"]

# The magic, the version, how many descriptors come along, how many bytes follow.
_HEADER = struct.Struct("<4sHHI")
_MAGIC = b"SBDM"

HEADER_SIZE = _HEADER.size
VERSION = 1
MAX_BODY = 1 << 16
MAX_DESCRIPTORS = 64
"""The kernel passes 253 at most (SCM_MAX_FD, net/scm.h); no image has more than a few."""


def pack_header(descriptors: int, nbytes: int) -> bytes:
    """The header of a body of `nbytes`.

    Raises:
        MessageError: more than a message may have.
    """
    _check(descriptors, nbytes)
    return _HEADER.pack(_MAGIC, VERSION, descriptors, nbytes)


def unpack_header(header: bytes) -> tuple[int, int]:
    """How many descriptors come along, and how many bytes follow.

    Raises:
        MessageError: no header, another version, or more than a message may have.
    """
    magic, version, descriptors, nbytes = _HEADER.unpack(header)
    if magic != _MAGIC:
        raise MessageError("magic", f"{shown(magic)} begins no message of samebytes_dma.send()")
    if version != VERSION:
        raise MessageError(
            "version",
            f"{version}, this samebytes-dma knows {VERSION}: use one release on both ends",
        )
    _check(descriptors, nbytes)
    return descriptors, nbytes


def _check(descriptors: int, nbytes: int) -> None:
    if not 1 <= descriptors <= MAX_DESCRIPTORS:
        raise MessageError(
            "descriptors", f"{descriptors} of them, a message has 1 to {MAX_DESCRIPTORS}"
        )
    if not 1 <= nbytes <= MAX_BODY:
        raise MessageError("length", f"{nbytes} bytes, a description has 1 to {MAX_BODY}")
