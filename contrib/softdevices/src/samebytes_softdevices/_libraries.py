# SPDX-License-Identifier: Apache-2.0
"""The paths of native libraries: those that the installation built, and those of the system."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from samebytes_softdevices._plan import SoftDeviceError

__all__ = ["installed", "library"]

_FOLDER = Path(__file__).parent / "_lib"


def library(name: str) -> Path:
    """Return the path of the built library `name`, for example "libsoftgpu.so".

    Raises:
        SoftDeviceError: it was not built; the message has the note that the build left about it.
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
    """The folder to install from: that of these sources, if they are in a checkout."""
    folder = Path(__file__).parents[2]
    return shlex.quote(str(folder)) if (folder / "pyproject.toml").is_file() else "FOLDER_OR_WHEEL"


def installed(name: str) -> tuple[Path, ...]:
    """Return the libraries `name` of the system; the one that a program would find comes first.

    They are searched for in the folders of LD_LIBRARY_PATH and in the list of ldconfig. None is
    loaded, since that would decide which one this process has.
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
