# SPDX-License-Identifier: Apache-2.0
"""DRM nodes: listing them, opening one, and the hardware behind it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from samebytes import Fd
from samebytes.errors import MissingDependencyError, UnknownNameError
from samebytes.plugins import advice_to_open

__all__ = ["number_of", "open_node", "pci_of", "render_nodes", "vendor_of"]

FOLDER = Path("/dev/dri")
SYSTEM = Path("/sys/dev/char")

_PCI_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def render_nodes() -> list[str]:
    """The paths of the render nodes, in the order of their numbers."""
    return [str(p) for p in sorted(FOLDER.glob("renderD*"), key=lambda p: (len(p.name), p.name))]


def open_node(path: str) -> Fd:
    """Open a node for reading and writing.

    Raises:
        UnknownNameError: there is no such file.
        MissingDependencyError: the user may not open it.
    """
    try:
        return Fd(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except PermissionError as error:
        raise MissingDependencyError(
            "vaapi", f"permission to use {path}", advice_to_open(path)
        ) from error
    except OSError as error:
        raise UnknownNameError(
            "DRM render node", path, render_nodes(), f"({error.strerror})"
        ) from error


def number_of(node: int | str) -> int | None:
    """The device number of a node, by a descriptor or path: the same for all paths of one node.

    None if there is no such node.
    """
    try:
        return os.stat(node).st_rdev or None  # noqa: PTH116 - descriptors, too
    except OSError:
        return None


def pci_of(node: int | str | None) -> str | None:
    """The PCI address "dddd:bb:dd.f" of the device behind a node, as sysfs links it, or None."""
    folder = None if node is None else _device(node)
    name = "" if folder is None else folder.resolve().name
    return name if _PCI_ADDRESS.fullmatch(name) else None


def vendor_of(node: int | str) -> int | None:
    """The PCI vendor of the device behind a node, for instance 0x8086, or None."""
    folder = _device(node)
    try:
        return None if folder is None else int((folder / "vendor").read_text(), 16)
    except (OSError, ValueError):
        return None


def _device(node: int | str) -> Path | None:
    # Linux, Documentation/ABI/testing/sysfs-dev: by major and minor number.
    number = number_of(node)
    return None if number is None else SYSTEM / f"{os.major(number)}:{os.minor(number)}" / "device"
