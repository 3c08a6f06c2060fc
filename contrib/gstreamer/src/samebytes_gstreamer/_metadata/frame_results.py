# SPDX-License-Identifier: Apache-2.0
"""Typed entries about a whole frame, as metas of its buffer.

If DL Streamer's library is loaded, tensors and classifications are in its own meta. Otherwise, and
for other entries, there is a custom meta of this package. Elements that convert or scale a picture
pass it on; those that cut, turn or enlarge it drop the meta, since it describes the whole.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_char_p
from functools import cache
from typing import Any

from samebytes.metadata import Entry, ObjectId

from .._abi.gstreamer import GstCustomMeta
from .._abi.libraries import gst, video
from .dlstreamer import add_dlstreamer_metas, has_tensor_meta
from .metas import RESULT_META, Metas
from .results import entries_in, entry_of, merged
from .structures import read_structure, write_fields

__all__ = ["add_results", "read_results", "remove_results"]

# The structure in a custom meta has the name of the meta, so its kind is a field.
_KIND = "kind"


def read_results(metas: Metas, tensors: Sequence[dict[str, Any]]) -> list[Entry]:
    """The entries on a buffer.

    Args:
        metas: the metas of the buffer.
        tensors: the contents of its metas of DL Streamer.
    """
    own = [read_structure(meta.structure) for meta in metas.results if meta.structure]
    return entries_in([*tensors, *({**fields, "name": fields.get(_KIND)} for fields in own)])


def add_results(buffer: int, tensors: Sequence[dict[str, Any]], entries: Sequence[Entry]) -> None:
    """Attach entries to a GstBuffer*, and tensors of DL Streamer if its library is loaded.

    Args:
        buffer: a buffer that can be written.
        tensors: the contents of such metas; entries take precedence over them.
        entries: entries for which `is_carried` is true.
    """
    found = [(fields, entry_of(fields)) for fields in merged(tensors, entries)]
    if found and has_tensor_meta():
        theirs = [fields for fields, entry in found if not isinstance(entry, ObjectId)]
        add_dlstreamer_metas(buffer, {"gva_tensors": theirs})
        found = [(fields, entry) for fields, entry in found if isinstance(entry, ObjectId)]
    for fields, entry in found:
        added = None if entry is None else gst.gst_buffer_add_meta(buffer, _info(), None)
        if added:
            structure = GstCustomMeta.from_address(added).structure
            write_fields(structure, {**fields, _KIND: fields["name"]})


def remove_results(buffer: int, metas: Metas) -> None:
    """Take all of them off a GstBuffer*, DL Streamer's tensors too."""
    for meta in (*metas.results, *metas.tensors):
        gst.gst_buffer_remove_meta(buffer, ctypes.addressof(meta))


@cache
def _info() -> int:
    """The GstMetaInfo* of the custom meta."""
    known: int | None = gst.gst_meta_get_info(RESULT_META)
    # Results of a whole picture are not those of a part, and no meta of this kind can be moved.
    # videocrop, videobox and videoflip drop those with the first tag. As GStreamer can move metas
    # since 1.28, they drop those with both, and so do videoscale and videoconvert.
    moves = hasattr(video.library, "gst_video_meta_transform_matrix_init")
    tags = (c_char_p * 3)(b"orientation", b"size" if moves else None, None)
    return known or int(gst.gst_meta_register_custom(RESULT_META, tags, None, None, None))
