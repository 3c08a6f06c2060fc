# SPDX-License-Identifier: Apache-2.0
"""stats(): the count of copies that samebytes made."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._counting import counted, reset_stats

__all__ = ["CopyCount", "Stats", "reset_stats", "stats"]


@dataclass(frozen=True, slots=True)
class CopyCount:
    """The number of copies that one edge made, and the bytes that it copied in all.

    For conversions: their number, and the bytes that they wrote.
    """

    copies: int = 0
    nbytes: int = 0


@dataclass(frozen=True, slots=True)
class Stats:
    """The copies and conversions made since start, or since `reset_stats()`.

    Attributes:
        copies: the number of copies.
        copied_bytes: the bytes that they copied in all.
        by_edge: the same for each edge, "source -> target".
        conversions: the number of pictures that `Frame.convert` made.
        converted_bytes: the bytes that it wrote in all.
        by_conversion: the same for each, "I420 -> RGB (ffmpeg)".
    """

    copies: int = 0
    copied_bytes: int = 0
    by_edge: dict[str, CopyCount] = field(default_factory=dict)
    conversions: int = 0
    converted_bytes: int = 0
    by_conversion: dict[str, CopyCount] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        from ._seen.text import preformatted, table_as_html

        both = *self.by_edge.items(), *self.by_conversion.items()
        rows = [(name, each.copies, each.nbytes) for name, each in both]
        words = f"{self.copied_bytes} bytes copied, {self.converted_bytes} bytes converted"
        heads = ("copy or conversion", "times", "bytes")
        return preformatted(words) + (table_as_html(heads, rows) if rows else "")


def stats() -> Stats:
    """The copies and conversions so far, as a snapshot.

    The unit depends on the code that copies. A ring, `make_writable()`, and a mapping of
    whole frames count one for each frame, with the bytes of all its planes. A pickle
    (`samebytes.copied`) counts one for each plane, and two for a plane with padded rows; other
    code that copies planes one by one counts each as well. `by_edge` tells them apart.
    """
    copies, conversions = counted()
    by_edge = {edge: CopyCount(*count) for edge, count in copies.items()}
    by_conversion = {what: CopyCount(*count) for what, count in conversions.items()}
    return Stats(
        copies=sum(c.copies for c in by_edge.values()),
        copied_bytes=sum(c.nbytes for c in by_edge.values()),
        by_edge=by_edge,
        conversions=sum(c.copies for c in by_conversion.values()),
        converted_bytes=sum(c.nbytes for c in by_conversion.values()),
        by_conversion=by_conversion,
    )
