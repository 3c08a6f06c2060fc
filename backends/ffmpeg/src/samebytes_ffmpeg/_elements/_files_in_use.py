# SPDX-License-Identifier: Apache-2.0
"""Files that this process reads and writes by FFmpeg, so that none is overwritten meanwhile.

The ffmpeg program, too, refuses an output that is one of its inputs: it would be empty before it
was read. A device or a pipe, such as /dev/null, may have any number of users.
"""

from __future__ import annotations

from pathlib import Path
from weakref import WeakValueDictionary

from samebytes.plugins import in_forked_child

__all__ = ["Use", "file_name", "reading", "writing"]


class Use:
    """The use of one file, which ends with this object."""

    __slots__ = ("__weakref__", "path")

    def __init__(self, path: Path) -> None:
        self.path = path


_read: WeakValueDictionary[int, Use] = WeakValueDictionary()
_written: WeakValueDictionary[Path, Use] = WeakValueDictionary()
# A child has copies of its parent's elements, and uses none of them.
in_forked_child(_read.clear)
in_forked_child(_written.clear)


def file_name(url: str) -> str:
    """Return an address without "file:", which FFmpeg accepts before the name of a file."""
    return url.removeprefix("file:")


def reading(path: Path) -> Use | None:
    """Return the use of a file that is read; None for anything else, such as a camera."""
    if not path.is_file():
        return None
    use = Use(path.resolve())
    _read[id(use)] = use
    return use


def writing(path: Path) -> Use | None:
    """Return the use of a file that is written, or will be made; None for a device or a pipe.

    Raises:
        ValueError: it is read or written at this moment; the message says which.
    """
    if path.exists() and not path.is_file():
        return None
    use = Use(path.resolve())
    if any(other and other.path == use.path for other in [ref() for ref in _read.valuerefs()]):
        raise ValueError(f"{path} would be overwritten while it is read: write to another file")
    if _written.setdefault(use.path, use) is not use:
        raise ValueError(f"{path} is being written already: each sink needs a file of its own")
    return use
