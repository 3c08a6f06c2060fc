# SPDX-License-Identifier: Apache-2.0
"""The stream that a frame belongs to, according to its metadata."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from .._core.memory.frame import Frame
from ..metadata import KEY, SourceIdentifier

__all__ = ["identify", "note_of"]


def identify(frame: Frame, stream: int) -> None:
    """Note in a frame the stream that it belongs to, unless its metadata say so already.

    Decoders read the metadata of a frame when they are first asked for, which takes longer than all
    that a pipeline does with a frame: until then this note waits.
    """
    frame.meta.when_read(note_of(stream, False))


@lru_cache
def note_of(stream: int, numbered: bool) -> Callable[[dict[str, Any]], None]:
    """Return the function that `identify` leaves with a frame, one for each pair of arguments.

    Args:
        stream: the number of the stream.
        numbered: set the number even if the frame has one: each of several sources may say 0, or
            give frames whose identity has nothing but a uri. The rest of the identity stays. A
            batch, which has an identity for each of its pictures, keeps them all.
    """
    return partial(_note, SourceIdentifier(stream_id=stream), numbered)


def _note(said: SourceIdentifier, numbered: bool, metadata: dict[str, Any]) -> None:
    entries = metadata.setdefault(KEY, [])
    if not isinstance(entries, list):
        return  # code that looks for entries gets the error
    found = [n for n, entry in enumerate(entries) if isinstance(entry, SourceIdentifier)]
    if not found:
        entries.append(said)
    elif numbered and len(found) == 1:
        before = entries[found[0]]
        entries[found[0]] = replace(before, stream_id=said.stream_id)
