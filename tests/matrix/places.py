# SPDX-License-Identifier: Apache-2.0
"""Places of bytes, as far as they are known: what two tensors over the same bytes have in common.

A place is {kind: where}. The kinds:

    "cl_mem"    (handle of the whole buffer, offset in it)
    "file"      (device, inode, offset in it): what is behind a descriptor, or mapped at an address
    "address"   of the first element, where the CPU reads it
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["Place", "file_at", "file_of", "same_place"]

Place = Mapping[str, object]


def file_of(fd: int, offset: int) -> tuple[int, int, int]:
    """The place of a byte behind a descriptor."""
    status = os.fstat(fd)
    return status.st_dev, status.st_ino, offset


def file_at(address: int) -> tuple[int, int, int] | None:
    """The same for a byte in memory, if a file is mapped there (proc_pid_maps(5))."""
    for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
        span, _, offset, device, inode = line.split(maxsplit=5)[:5]
        first, last = (int(number, 16) for number in span.split("-"))
        if first <= address < last:
            major, minor = (int(number, 16) for number in device.split(":"))
            where = int(offset, 16) + address - first
            return (os.makedev(major, minor), int(inode), where) if int(inode) else None
    return None


def same_place(one: Place, other: Place) -> bool | None:
    """True if these are the same bytes; None if the two are not comparable.

    Two handles of cl_mem may be over the same memory, so that only equal ones say something.
    """
    if "cl_mem" in one and one.get("cl_mem") == other.get("cl_mem"):
        return True
    for kind in ("address", "file"):
        here, there = _reported(one, kind), _reported(other, kind)
        if here is not None and there is not None and (kind == "file" or here == there):
            return here == there
    both = "address" in one and "address" in other
    return False if both else None


def _reported(place: Place, kind: str) -> object:
    """The entry of a place for a kind. An address also identifies the file that is mapped there."""
    address = place.get("address")
    if kind == "file" and kind not in place and isinstance(address, int):
        return file_at(address)
    return place.get(kind)
