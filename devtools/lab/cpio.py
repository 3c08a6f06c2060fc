# SPDX-License-Identifier: Apache-2.0
"""Archives as the kernel unpacks them at its start.

The format is in the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
"""

import stat
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A folder, file or link; what a link points to is its content."""

    name: str
    mode: int
    content: bytes = b""


def folder(name: str) -> Entry:
    """An empty folder."""
    return Entry(name, stat.S_IFDIR | 0o755)


def program(name: str, content: bytes) -> Entry:
    """A file that can be run."""
    return Entry(name, stat.S_IFREG | 0o755, content)


def link(name: str, target: str) -> Entry:
    """A symbolic link."""
    return Entry(name, stat.S_IFLNK | 0o777, target.encode())


def archive(entries: Iterable[Entry]) -> bytes:
    """The entries in the format "newc"; a folder must come before what lies in it."""
    parts = [_record(number, entry) for number, entry in enumerate(entries, start=1)]
    return b"".join([*parts, _record(0, Entry("TRAILER!!!", 0))])


def _record(number: int, entry: Entry) -> bytes:
    name = entry.name.encode() + b"\0"
    # ino, mode, uid, gid, nlink, mtime, filesize, two devices of two numbers, namesize, check
    fields = (number, entry.mode, 0, 0, 1, 0, len(entry.content), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(head + name) + _padded(entry.content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
