# SPDX-License-Identifier: Apache-2.0
"""The packets of a ring: see docs/reference/ring.md. The first byte says what a packet is."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from samebytes.plugins import counted

from .._errors import MessageError
from .._wire.message import MAX_BODY, shown

__all__ = [
    "END",
    "FRAME",
    "JOIN",
    "LATE",
    "LAYOUT",
    "LEAVES",
    "MAX_LAYOUTS",
    "MAX_PACKET",
    "MAX_SLOTS",
    "MOST_FROM_READER",
    "MOST_RECORDS",
    "REFUSED",
    "SLOT",
    "WELCOME",
    "pack_done",
    "pack_frame",
    "pack_join",
    "pack_layout",
    "pack_leave",
    "pack_refused",
    "pack_slot",
    "pack_welcome",
    "unpack_frame",
    "unpack_join",
    "unpack_layout",
    "unpack_records",
    "unpack_refused",
    "unpack_slot",
    "unpack_welcome",
]

VERSION = 2
_MAGIC = b"SBRG"

# From the writer.
WELCOME, REFUSED, SLOT, LAYOUT, FRAME, END, LATE = b"WRSLFET"
# From a reader.
(JOIN,) = b"J"

MAX_SLOTS = 128
"""Own slots and those of others' memory together."""
MAX_LAYOUTS = 64
MAX_PACKET = 64 + MAX_BODY

_GREETING = struct.Struct("<c4sHH")
_NUMBER = struct.Struct("<cH")
_FRAME = struct.Struct("<cHHQBqII")
_FRAME_SIZE = _FRAME.size
_RECORD = struct.Struct("<HQ")
_MAX_REASON = 400
MOST_FROM_READER = _GREETING.size
"""The longest packet that a reader sends."""
MOST_RECORDS = (MAX_SLOTS + 1) * _RECORD.size
"""The bytes of all records that a reader can have written and the writer not read."""
LEAVES = 0xFFFF
"""In a record, in place of a slot: the reader wants no more frames."""

_HAS_PTS = 1
_HAS_TIME_BASE = 2
_MAX_PART = (1 << 31) - 1


def pack_welcome(credits: int) -> bytes:
    """Pack the writer's answer to a reader that it takes: how many frames it may have at a time."""
    return _GREETING.pack(b"W", _MAGIC, VERSION, credits)


def unpack_welcome(packet: bytes) -> int:
    """Return the number of frames that the reader may have at a time.

    Raises:
        MessageError: no greeting, or one of another version.
    """
    credits = _greeting(packet, WELCOME)
    if not 1 <= credits <= MAX_SLOTS:
        raise MessageError("welcome.credits", f"must be 1 to {MAX_SLOTS}, not {credits}")
    return credits


def pack_join(credits: int) -> bytes:
    """Pack the greeting of a reader: how many frames it wants at a time; 0: as the writer likes."""
    return _GREETING.pack(b"J", _MAGIC, VERSION, credits)


def unpack_join(packet: bytes) -> int:
    """Return the number of frames that a reader wants at a time; 0 leaves it to the writer.

    Raises:
        MessageError: no greeting, or one of another version.
    """
    return _greeting(packet, JOIN)


def pack_refused(reason: str) -> bytes:
    """Pack the reason why the writer refuses a reader."""
    return b"R" + reason.encode()[:_MAX_REASON]


def unpack_refused(packet: bytes) -> str:
    """The reason, which another process wrote."""
    return packet[1 : _MAX_REASON + 1].decode(errors="replace")


def pack_slot(slot: int) -> bytes:
    """Pack the number of a slot, whose memory comes along as a descriptor."""
    return _NUMBER.pack(b"S", slot)


def unpack_slot(packet: bytes) -> int:
    """The number of a slot.

    Raises:
        MessageError: a number that no slot has.
    """
    return _number(packet, _exactly(packet, _NUMBER.size, "slot"), "slot", MAX_SLOTS)


def pack_layout(layout: int, description: bytes) -> bytes:
    """Pack a layout: its number, and a description like that of send() for one descriptor.

    Raises:
        MessageError: the description is longer than a packet allows.
    """
    _check_body(len(description), "layout")
    return _NUMBER.pack(b"L", layout) + description


def unpack_layout(packet: bytes) -> tuple[int, bytes]:
    """The number of a layout, and its description.

    Raises:
        MessageError: a number that no layout has, or no description.
    """
    body = packet[_NUMBER.size :]
    _check_body(len(body), "layout")
    return _number(packet, packet[: _NUMBER.size], "layout", MAX_LAYOUTS), body


def pack_frame(
    slot: int, layout: int, sequence: int, pts: int | None, base: Fraction | None, body: bytes
) -> bytes:
    """Pack a frame, with its metadata as a JSON object, or nothing if it has none.

    Args:
        slot, layout: where it lies and how.
        sequence: its number among the frames that the writer accepted.
        pts, base: as for FrameMeta.
        body: the metadata.

    Raises:
        MessageError: more metadata than a packet may have, or a time that a frame cannot have.
    """
    flags = numerator = denominator = 0
    if pts is not None:
        flags = _HAS_PTS
    if base is not None:
        flags |= _HAS_TIME_BASE
        try:
            numerator, denominator = base.numerator, base.denominator
        except AttributeError:  # a float, or a pair
            raise _cannot_have(pts, base) from None
        if numerator > _MAX_PART or denominator > _MAX_PART:
            raise _cannot_have(pts, base)
    if body and len(body) > MAX_BODY:
        raise MessageError(
            "frame", f"has {len(body)} bytes of metadata, but at most {MAX_BODY} fit"
        )
    try:
        head = _FRAME.pack(b"F", slot, layout, sequence, flags, pts or 0, numerator, denominator)
        return head + body
    except struct.error:
        raise _cannot_have(pts, base) from None


def _cannot_have(pts: int | None, base: Fraction | None) -> MessageError:
    return MessageError(
        "frame.pts",
        f"{pts!r} must be a whole number that fits into 64 bits, and time base {base!r} a Fraction "
        "both parts of which fit into 31",
    )


def unpack_frame(
    packet: bytearray, nbytes: int
) -> tuple[int, int, int, int | None, Fraction | None, bytes]:
    """Return the arguments of pack_frame().

    Args:
        packet: begins with it.
        nbytes: how long it is.

    Raises:
        MessageError: it ends too soon, or what it says is invalid.
    """
    if nbytes < _FRAME_SIZE:
        raise MessageError("frame", f"ends after {nbytes} of {_FRAME.size} bytes")
    _, slot, layout, sequence, flags, pts, numerator, denominator = _FRAME.unpack_from(packet)
    if slot >= MAX_SLOTS or layout >= MAX_LAYOUTS or flags > _HAS_PTS | _HAS_TIME_BASE:
        raise MessageError("frame", f"has slot {slot}, layout {layout} and flags {flags}")
    base = None
    if flags & _HAS_TIME_BASE:
        parts, base = _last
        if parts != (numerator, denominator):
            base = _time_base(numerator, denominator)
    body = b"" if nbytes == _FRAME_SIZE else bytes(packet[_FRAME_SIZE:nbytes])
    return slot, layout, sequence, pts if flags & _HAS_PTS else None, base, body


pack_done = _RECORD.pack
"""pack_done(slot, sequence): the record that a reader is done with a frame."""

pack_leave = partial(_RECORD.pack, LEAVES)
"""pack_leave(sequence): that it leaves, and that this is the last frame that it has read."""


def unpack_records(records: bytes) -> Iterator[tuple[Any, ...]]:
    """Return the slot, or LEAVES, and the sequence of each record of a reader.

    Raises:
        MessageError: the last one is not whole.
    """
    if len(records) % _RECORD.size:
        raise MessageError("record", f"has {len(records) % _RECORD.size} of {_RECORD.size} bytes")
    return _RECORD.iter_unpack(records)


_last: tuple[tuple[int, int], Fraction] = ((0, 1), Fraction(0))


def _time_base(numerator: int, denominator: int) -> Fraction:
    global _last  # noqa: PLW0603 - making a Fraction takes as long as the rest of a packet
    if numerator > _MAX_PART or not 1 <= denominator <= _MAX_PART:
        raise MessageError("frame.time_base", f"cannot be {numerator}/{denominator}")
    made = Fraction(numerator, denominator)
    _last = ((numerator, denominator), made)
    return made


def _greeting(packet: bytes, kind: int) -> int:
    _, magic, version, number = _GREETING.unpack(_exactly(packet, _GREETING.size, "greeting"))
    if packet[0] != kind or magic != _MAGIC:
        raise MessageError("greeting", f"{shown(packet)} does not begin a ring")
    if version != VERSION:
        raise MessageError(
            "version",
            f"{version}, but this samebytes-ipc supports {VERSION}: use one release on both ends",
        )
    return int(number)


def _exactly(packet: bytes, nbytes: int, what: str) -> bytes:
    if len(packet) != nbytes:
        raise MessageError(what, f"has {counted(len(packet), 'byte')}, not {nbytes}")
    return packet


def _number(packet: bytes, head: bytes, what: str, end: int) -> int:
    if len(head) != _NUMBER.size:
        raise MessageError(what, f"ends after {counted(len(packet), 'byte')}")
    number = int(_NUMBER.unpack(head)[1])
    if number >= end:
        raise MessageError(what, f"has the number {number}, which must be at most {end - 1}")
    return number


def _check_body(nbytes: int, what: str) -> None:
    if not 1 <= nbytes <= MAX_BODY:
        raise MessageError(what, f"is {nbytes} bytes, but a description has 1 to {MAX_BODY}")
