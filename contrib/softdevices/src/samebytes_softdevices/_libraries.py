# SPDX-License-Identifier: Apache-2.0
"""The native libraries that the installation built."""

from __future__ import annotations

from pathlib import Path

from samebytes_softdevices._plan import SoftDeviceError

__all__ = ["library"]

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
        "which builds it; run `pip install samebytes-softdevices`"
    )
