# SPDX-License-Identifier: Apache-2.0
"""Labels as quarks, which GLib never frees, so only a limited number is made from data."""

from __future__ import annotations

import warnings

from ..._abi.libraries import glib

__all__ = ["MOST_LABELS", "bytes_of", "label_of", "quark_of", "text_of"]

MOST_LABELS = 4096
"""The largest number of labels that this package interns in one process."""

_quarks: dict[bytes, int] = {}
_warned: list[bytes] = []


def quark_of(label: str) -> int:
    """The quark of a label; 0 for "", and for new ones once there are `MOST_LABELS`."""
    text = bytes_of(label)
    if not text:
        return 0
    known = _quarks.get(text)
    if known is None:
        if len(_quarks) >= MOST_LABELS:
            _tell(text)
            return 0
        known = _quarks[text] = int(glib.g_quark_from_string(text))
    return known


def _tell(text: bytes) -> None:
    if _warned:
        return
    _warned.append(text)
    warnings.warn(
        f"results with more than {MOST_LABELS} different labels: GStreamer never frees a label, so "
        "its elements see further regions without one; have label_id say what changes from "
        "frame to frame",
        RuntimeWarning,
        stacklevel=2,
    )


def bytes_of(label: str) -> bytes:
    """A label in the form of C: up to its first zero byte, with the bytes that `text_of` read."""
    try:
        text = label.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        text = label.encode(errors="replace")
    return text.partition(b"\0")[0]


def text_of(label: bytes | None) -> str:
    """A label from C as text, "" without one. Bytes that are not UTF-8 become surrogates."""
    return label.decode(errors="surrogateescape") if label else ""


def label_of(quark: int) -> str:
    """The label of a quark, "" of 0 and of unknown ones."""
    return text_of(glib.g_quark_to_string(quark))
