# SPDX-License-Identifier: Apache-2.0
"""The arguments that callers pass to a ring: timeouts, counts and addresses."""

from __future__ import annotations

import os
from operator import index
from typing import Any

from samebytes.errors import LayoutError, UnsupportedObjectError

__all__ = ["Address", "check_timeout", "is_whole", "name_of"]

Address = str | os.PathLike[str]


def check_timeout(seconds: Any, name: str = "timeout") -> None:
    """Refuse a time that nobody can wait for; None is without limit.

    Raises:
        ValueError: not-a-number, for which a ring would wait forever, or another object.
    """
    try:
        if seconds is None or seconds >= 0 or seconds < 0:
            return
    except TypeError:
        pass
    raise ValueError(
        f"{name}={seconds!r}: give the seconds to wait, 0 to look without waiting, or None to "
        "wait for as long as it takes"
    )


def is_whole(value: Any, lowest: int, highest: int) -> bool:
    """True if a value is a whole number from `lowest` to `highest`."""
    try:
        return lowest <= index(value) <= highest
    except TypeError:
        return False


def name_of(address: Any) -> str:
    """The name of a socket, as the kernel takes it.

    Raises:
        UnsupportedObjectError: neither a path nor a name.
        LayoutError: a path with a NUL in it.
    """
    name = os.fspath(address) if isinstance(address, str | os.PathLike) else None
    if not isinstance(name, str):
        raise UnsupportedObjectError(
            f'address={address!r}: give a path as str or pathlib.Path, "@name", or a socket'
        )
    if name.startswith("@"):
        return "\0" + name[1:]
    if "\0" in name:
        raise LayoutError(f"address={address!r}: no path has a NUL in it")
    return name
