# SPDX-License-Identifier: Apache-2.0
"""The access modes of a mapping."""

from __future__ import annotations

from typing import Literal, get_args

from ..errors import UnknownNameError

__all__ = ["ACCESS_MODES", "Access", "check_access"]

Access = Literal["r", "w", "rw"]
"""The kind of access that a mapping gives.

"r" reads. "w" writes every byte: the old contents are undefined in the mapping. "rw" reads and
writes.
"""

ACCESS_MODES: tuple[Access, ...] = get_args(Access)


def check_access(access: str) -> None:
    """Raise UnknownNameError unless `access` is a mode.

    Args:
        access: "r", "w" or "rw".

    Raises:
        UnknownNameError: it is none of them.
    """
    if access not in ACCESS_MODES:
        raise UnknownNameError("access mode", str(access), ACCESS_MODES)
