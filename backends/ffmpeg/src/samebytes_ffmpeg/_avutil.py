# SPDX-License-Identifier: Apache-2.0
"""The libavutil that PyAV itself uses, and the calls of it that mappings need.

It is reached through PyAV's extension module: a symbol is looked up in what that is linked to.
"""

from __future__ import annotations

import os
from pathlib import Path

from samebytes.errors import MissingDependencyError

from ._libavutil import Libavutil

try:
    import av
    import av.frame
except ImportError as error:
    raise MissingDependencyError("ffmpeg", f"PyAV ({error})", 'pip install "samebytes[ffmpeg]"') \
        from error  # fmt: skip

__all__ = [
    "FRAME_HEAD",
    "PYAV",
    "PYAV_HINT",
    "AVFrame",
    "buffer_create",
    "buffer_get_ref_count",
    "buffer_ref",
    "buffer_unref",
    "frame_copy_props",
    "frame_get_plane_buffer",
    "frame_is_writable",
    "get_pix_fmt",
    "malloc",
    "pix_fmt_desc_get",
]

PYAV_HINT = 'pip install "av>=12.3,<20"'


def _path() -> str:
    path = Path(av.frame.__file__)
    if os.name != "nt":
        return str(path)
    # Windows looks a symbol up in one library alone; PyAV's wheel has them in a folder beside it.
    for library in (path.parent.parent / "av.libs").glob("avutil-*.dll"):
        return str(library)
    raise MissingDependencyError("ffmpeg", "avutil-*.dll beside PyAV", PYAV_HINT)


PYAV = Libavutil(_path(), PYAV_HINT)
"""PyAV's own."""

AVFrame = PYAV.AVFrame
FRAME_HEAD = PYAV.frame_head

# Under their own names, since mappings call them for every frame.
frame_is_writable = PYAV.frame_is_writable
frame_copy_props = PYAV.frame_copy_props
frame_get_plane_buffer = PYAV.frame_get_plane_buffer
buffer_create = PYAV.buffer_create
buffer_ref = PYAV.buffer_ref
buffer_unref = PYAV.buffer_unref
buffer_get_ref_count = PYAV.buffer_get_ref_count
malloc = PYAV.malloc
get_pix_fmt = PYAV.get_pix_fmt
pix_fmt_desc_get = PYAV.pix_fmt_desc_get
