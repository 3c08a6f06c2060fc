# SPDX-License-Identifier: Apache-2.0
"""Native libraries: those that the installation built, and those of the system."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from samebytes_softdevices._plan import SoftDeviceError

__all__ = ["installed", "library"]

_FOLDER = Path(__file__).parent / "_lib"


def library(name: str) -> Path:
    """Give the path of the built library `name`, for example "libsoftgpu.so".

    Raises:
        SoftDeviceError: it was not built; with the note that the build left about it.
    """
    path = _FOLDER / name
    if path.is_file():
        return path
    note = _FOLDER / f"{name}.missing"
    if note.is_file():
        raise SoftDeviceError(note.read_text(encoding="utf-8").strip())
    raise SoftDeviceError(
        f"{name} is not there: this copy of samebytes-softdevices was not installed by pip, "
        f"which builds it; run pip install {_source()}"
    )


def _source() -> str:
    """The folder to install from: of these sources, where they are in one."""
    folder = Path(__file__).parents[2]
    return shlex.quote(str(folder)) if (folder / "pyproject.toml").is_file() else "FOLDER_OR_WHEEL"


def installed(name: str) -> tuple[Path, ...]:
    """Give the libraries `name` of the system, the one first that a program would find.

    They are looked for in the folders of LD_LIBRARY_PATH and in what ldconfig lists. Nothing is
    loaded: that would decide which one this process has.
    """
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    found = [Path(folder) / name for folder in folders if folder]
    try:
        listing = subprocess.run(
            ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        listing = ""
    for line in listing.splitlines():
        entry, arrow, path = line.strip().partition(" => ")
        if arrow and entry.split(" ")[0] == name:
            found.append(Path(path))
    return tuple(path for path in found if path.is_file())
