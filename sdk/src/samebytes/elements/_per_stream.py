# SPDX-License-Identifier: Apache-2.0
"""File names with "{stream}" in them: one file for each stream of a pipeline."""

from __future__ import annotations

import re
from typing import Any

from ..metadata import SourceIdentifier, find

__all__ = ["StreamName", "stream_of"]

_STREAM = re.compile(r"\{stream(?::([0-9]*d?))?\}")


class StreamName:
    """A file name in which "{stream}" or "{stream:02}" stands for the number of a stream.

    For sinks that write a file for each stream: "out-{stream}.mp4" is out-0.mp4, out-1.mp4 and so
    on. The rest of the name, including other braces, stays as it is.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    @property
    def varies(self) -> bool:
        """True if each stream has a name of its own, that is, if "{stream}" is in it."""
        return _STREAM.search(self._pattern) is not None

    def of(self, stream: int) -> str:
        """Return the name of a stream's file.

        Args:
            stream: the number of the stream, from 0.
        """
        return _STREAM.sub(lambda found: format(stream, found[1] or ""), self._pattern)


def stream_of(frame: Any) -> int:
    """Return the number of a frame's stream, the `stream_id` of its `SourceIdentifier`.

    Args:
        frame: a frame of a pipeline.

    Returns:
        The number, from 0; 0 for a frame that has none.
    """
    source = find(frame, SourceIdentifier)
    return 0 if source is None or source.stream_id is None else source.stream_id
