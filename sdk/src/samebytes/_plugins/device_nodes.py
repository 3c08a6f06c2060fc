# SPDX-License-Identifier: Apache-2.0
"""Device nodes that a user may not open: what gives the permission."""

from __future__ import annotations

import stat
from pathlib import Path

__all__ = ["advice_to_open"]

_SHARED = stat.S_IRGRP | stat.S_IWGRP


def advice_to_open(node: str | Path) -> str:
    """Return what a user does who may not open a device node, as a hint for errors.

    Whoever is in the group of a node may use it, where its mode says so. Nobody should be in
    the group of root for that; and in a container a group may have no name.

    Args:
        node: its path.
    """
    import grp  # wanted for this advice alone, and not there on Windows

    try:
        found = Path(node).stat()
    except OSError:
        return 'sudo usermod -aG render "$USER", then log in again'
    if found.st_gid == 0 or found.st_mode & _SHARED != _SHARED:
        return f"a udev rule that gives {node} to a group of yours, with mode 0660"
    try:
        name = grp.getgrgid(found.st_gid).gr_name
    except KeyError:
        number = found.st_gid
        return (
            f"join the group {number} of {node} (a container: start it with --group-add {number})"
        )
    return f'sudo usermod -aG {name} "$USER", then log in again'
