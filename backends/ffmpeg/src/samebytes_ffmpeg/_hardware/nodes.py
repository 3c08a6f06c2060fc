# SPDX-License-Identifier: Apache-2.0
"""The reason why a DRM node of VA-API cannot be opened, for which FFmpeg has at most a number."""

from __future__ import annotations

import os
from pathlib import Path

from samebytes.errors import MissingDependencyError, SamebytesError, UnknownNameError
from samebytes.plugins import advice_to_open

__all__ = ["refusal_of"]

_FOLDER = Path("/dev/dri")
_NO_NODE = (
    "use a machine with a GPU, or a software one: pip install samebytes-softdevices, then "
    "samebytes-softdevices run --vaapi -- COMMAND"
)
_DRIVERS = "apt install intel-media-va-driver (Intel's GPUs) or mesa-va-drivers (AMD's)"
# libavutil/hwcontext_vaapi.c: its result when vaInitialize, which opens the driver, fails.
_EIO = -5


def refusal_of(node: str | None, code: int) -> SamebytesError | None:
    """The reason why a device of VA-API could not be opened; None if only FFmpeg's own is known.

    Args:
        node: the path that was asked for; None for the first that FFmpeg finds.
        code: what FFmpeg returned.
    """
    nodes = sorted(str(path) for path in _FOLDER.glob("renderD*"))
    if node is not None and not Path(node).exists():
        # Without a slash it may be the name of an X11 display.
        return UnknownNameError("DRM render node", node, nodes) if node.startswith("/") else None
    if node is None and not nodes:
        return MissingDependencyError("ffmpeg", f"a GPU (no {_FOLDER}/renderD*)", _NO_NODE)
    for path in nodes if node is None else [node]:
        if not os.access(path, os.R_OK | os.W_OK):
            return MissingDependencyError(
                "ffmpeg", f"permission to use {path}", advice_to_open(path)
            )
    if code == _EIO:
        where = node or ", ".join(nodes)
        return MissingDependencyError("ffmpeg", f"a driver of VA-API for {where}", _DRIVERS)
    return None
