# SPDX-License-Identifier: Apache-2.0
"""Advice on the permission for device nodes that a user may not open."""

from __future__ import annotations

import stat
from pathlib import Path

__all__ = ["advice_to_open"]

_SHARED = stat.S_IRGRP | stat.S_IWGRP


def advice_to_open(node: str | Path) -> str:
    """Return a hint for errors: what a user can do who may not open a device node.

    If its mode allows it, members of the node's group may use it. Nobody should join the group of
    root for that, and in a container a group may have no name.

    Args:
        node: the path of the device node.
    """
    import grp  # needed only here, and missing on Windows

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
