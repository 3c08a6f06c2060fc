# SPDX-License-Identifier: Apache-2.0
"""The metas of Intel's DL Streamer: results of inference, JSON, and events in sound.

In a process that reads a buffer with such metas, the library is loaded already. They are found by
the names of their types; the structures are those of the library's public headers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from samebytes.errors import MissingDependencyError, UnsupportedObjectError

from .._abi.dlstreamer import (
    DLSTREAMER,
    GVA_AUDIO_EVENT_META_IMPL_NAME,
    GVA_JSON_META_IMPL_NAME,
    GVA_TENSOR_META_IMPL_NAME,
    GstGVAAudioEventMeta,
    GstGVAJSONMeta,
    GstGVATensorMeta,
)
from .._abi.gi import Gst, pointer_of
from .._abi.gstreamer import GstMetaInfo
from .._abi.libraries import glib, gst, load
from .metas import Metas
from .structures import (
    dicts_in,
    list_items,
    new_structure,
    read_structure,
    structure_name,
    write_fields,
)

__all__ = ["add_dlstreamer_metas", "add_gva_metas", "has_tensor_meta", "read_dlstreamer_metas"]

_LIBRARY = "libdlstreamer_gst_meta.so"
_HINT = "install Intel DL Streamer, and have its lib folder in LD_LIBRARY_PATH"

_IMPLEMENTATIONS = {
    "gva_tensors": (GVA_TENSOR_META_IMPL_NAME, GstGVATensorMeta),
    "gva_json": (GVA_JSON_META_IMPL_NAME, GstGVAJSONMeta),
    "gva_audio_events": (GVA_AUDIO_EVENT_META_IMPL_NAME, GstGVAAudioEventMeta),
}


def read_dlstreamer_metas(metas: Metas) -> dict[str, Any]:
    """`gva_tensors`, `gva_json` and `gva_audio_events`, as far as there are any."""
    found: dict[str, Any] = {}
    if metas.tensors:
        found["gva_tensors"] = [_named(meta.data) for meta in metas.tensors if meta.data]
    if metas.json:
        texts = [ctypes.string_at(meta.message) for meta in metas.json if meta.message]
        found["gva_json"] = [text.decode(errors="replace") for text in texts]
    if metas.audio_events:
        found["gva_audio_events"] = [_event(meta) for meta in metas.audio_events]
    return found


def _named(structure: int) -> dict[str, Any]:
    return {"name": structure_name(structure), **read_structure(structure)}


def _event(meta: GstGVAAudioEventMeta) -> dict[str, Any]:
    label = glib.g_quark_to_string(meta.event_type)
    return {
        "label": label.decode(errors="replace") if label else "",
        "id": meta.id,
        "start_timestamp": meta.start_timestamp,
        "end_timestamp": meta.end_timestamp,
        "params": [_named(structure) for structure in list_items(meta.params)],
    }


def add_gva_metas(
    buffer: Any,
    *,
    tensors: Sequence[Mapping[str, Any]] = (),
    json: Sequence[str] = (),
    audio_events: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Attach metas of DL Streamer to a Gst.Buffer, as its elements would.

    Args:
        buffer: a Gst.Buffer that can be written.
        tensors: a list of dicts: the fields of each ("model_name", "dims", "data_buffer" as bytes
            ...), and its "name".
        json: a list of texts, one for each meta.
        audio_events: a list of dicts: "label", "start_timestamp", "end_timestamp", "id", and
            "params" (a list of fields, as for tensors) of each.

    Raises:
        MissingDependencyError: DL Streamer is not installed.
        UnsupportedObjectError: `buffer` is not a writable Gst.Buffer.
    """
    if not isinstance(buffer, Gst.Buffer) or not gst.gst_mini_object_is_writable(
        pointer_of(buffer)
    ):
        raise UnsupportedObjectError(f"{buffer!r} is not a writable Gst.Buffer")
    wanted = {"gva_tensors": tensors, "gva_json": json, "gva_audio_events": audio_events}
    for kind, items in wanted.items():
        if items and _implementation(kind) is None:
            _load_library()
    add_dlstreamer_metas(pointer_of(buffer), wanted)


def add_dlstreamer_metas(buffer: int, known: Mapping[str, Any]) -> None:
    """Attach the metas that `read_dlstreamer_metas` read to a GstBuffer*, if it is loaded."""
    for kind, fill in _FILL.items():
        items = known.get(kind)
        if not isinstance(items, list | tuple):
            continue
        implementation = _implementation(kind) if items else None
        if implementation is None:
            continue
        texts = [item for item in items if isinstance(item, str)] if kind == "gva_json" else None
        for item in dicts_in(items) if texts is None else texts:
            added = gst.gst_buffer_add_meta(buffer, implementation, None)
            if added:
                fill(added, item)


def has_tensor_meta() -> bool:
    """True if buffers can have `gva_tensors`: DL Streamer's library is loaded."""
    return _implementation("gva_tensors") is not None


def _implementation(kind: str) -> int | None:
    """The GstMetaInfo* of that kind, if it is registered with the layout known here."""
    name, mirror = _IMPLEMENTATIONS[kind]
    info: int | None = gst.gst_meta_get_info(name)
    if info is None or GstMetaInfo.from_address(info).size < ctypes.sizeof(mirror):
        return None
    return info


@cache
def _load_library() -> None:
    library = load(_LIBRARY, DLSTREAMER, _HINT)
    for name in DLSTREAMER:
        if not getattr(library, name)():
            raise MissingDependencyError("gstreamer", f"the metas of {_LIBRARY}", _HINT)


def _fill_tensor(meta: int, fields: Any) -> None:
    mirror = GstGVATensorMeta.from_address(meta)
    name = str(fields.get("name", "meta"))
    if not mirror.data:
        mirror.data = new_structure(name, fields)
        return
    scratch = new_structure(name, {})  # a name that GStreamer takes
    gst.gst_structure_set_name(mirror.data, structure_name(scratch).encode())
    gst.gst_structure_free(scratch)
    write_fields(mirror.data, fields)


def _fill_json(meta: int, text: Any) -> None:
    mirror = GstGVAJSONMeta.from_address(meta)
    glib.g_free(mirror.message)
    mirror.message = glib.g_strdup(str(text).encode())


def _fill_event(meta: int, event: Any) -> None:
    mirror = GstGVAAudioEventMeta.from_address(meta)
    mirror.event_type = glib.g_quark_from_string(str(event.get("label", "")).encode())
    for key in ("id", "start_timestamp", "end_timestamp"):
        value = event.get(key, 0)
        setattr(mirror, key, value if isinstance(value, int) else 0)
    for fields in dicts_in(event.get("params")):
        structure = new_structure(str(fields.get("name", "params")), fields)
        mirror.params = glib.g_list_append(mirror.params, structure)


_FILL = {"gva_tensors": _fill_tensor, "gva_json": _fill_json, "gva_audio_events": _fill_event}
