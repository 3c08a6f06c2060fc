# SPDX-License-Identifier: Apache-2.0
"""The stream that a frame belongs to, as its metadata say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from .._core.memory.frame import Frame
from ..metadata import KEY, SourceIdentifier

__all__ = ["identify", "note_of"]


def identify(frame: Frame, stream: int) -> None:
    """Note in a frame which stream it is of, unless it says so already.

    Decoders read the metadata of a frame when somebody asks for them, which takes longer than all
    that a pipeline does with a frame: until then this note waits.
    """
    frame.meta.when_read(note_of(stream, False))


@lru_cache
def note_of(stream: int, numbered: bool) -> Callable[[dict[str, Any]], None]:
    """Return what `identify` leaves with a frame, the same for the same arguments.

    Args:
        stream: the number of the stream.
        numbered: it holds whatever the frame says: of several sources each may say 0, or give
            frames whose identity has nothing but a uri. The rest of it stays. A batch, which has an
            identity for each of its pictures, keeps them all.
    """
    return partial(_note, SourceIdentifier(stream_id=stream), numbered)


def _note(said: SourceIdentifier, numbered: bool, metadata: dict[str, Any]) -> None:
    entries = metadata.setdefault(KEY, [])
    if not isinstance(entries, list):
        return  # whoever looks for entries gets the error
    found = [n for n, entry in enumerate(entries) if isinstance(entry, SourceIdentifier)]
    if not found:
        entries.append(said)
    elif numbered and len(found) == 1:
        before = entries[found[0]]
        entries[found[0]] = replace(before, stream_id=said.stream_id)
