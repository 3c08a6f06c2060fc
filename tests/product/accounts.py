# SPDX-License-Identifier: Apache-2.0
"""The books of a run: every frame is accounted for, and every copy was announced."""

from __future__ import annotations

import re
from collections.abc import Collection

import samebytes as sb
import samebytes.elements as el

from .material import FRAMES

__all__ = ["account", "announced", "check_copies"]

_HEAD = re.compile(r"^ *(\S+) takes it in ")


def account(rows: el.Statistics, delivered: int, *, live: bool, threads: int) -> None:
    """See that frames that were read came out, or were left out and counted.

    Args:
        rows: what each element did; the first one is the source.
        delivered: frames that came out.
        live: the source leaves frames out that nobody takes in time.
        threads: of the run.

    Raises:
        AssertionError: some are missing.
    """
    made = rows[0].frames_out
    left_out = sum(row.dropped for row in rows)
    assert made == FRAMES, f"the source gave {made}\n{rows}"
    assert delivered + left_out == made, f"{delivered} of {made} came out\n{rows}"
    assert not left_out or (live and threads), rows
    assert not rows.lost, rows
    assert not any(row.errors for row in rows), rows
    for row in rows[1:]:
        assert row.frames_in == row.frames_out == delivered, rows


def announced(explained: str) -> set[str]:
    """The names of the elements for which `explain()` says that something is copied.

    Args:
        explained: what it said.
    """
    found, name = set(), ""
    for line in explained.splitlines():
        head = _HEAD.match(line)
        name = head[1] if head else name
        if "COPIES" in line:
            found.add(name)
    return found


def check_copies(
    explained: str,
    rows: el.Statistics,
    copied: sb.Stats,
    permit: Collection[str],
    elsewhere: str = "",
) -> None:
    """See that what was copied is what `explain()` says, no more and no less.

    Args:
        explained: what it said.
        rows: what each element did.
        copied: in the whole run.
        permit: who may copy.
        elsewhere: an edge that copies before the pipeline.

    Raises:
        AssertionError: it is not.
    """
    copying = {row.element for row in rows if row.copied_bytes}
    assert copying == announced(explained), f"copied: {copying}\n{explained}"
    total = sum(row.copied_bytes for row in rows)
    counted = sum(edge.nbytes for name, edge in copied.by_edge.items() if name != elsewhere)
    assert counted == total, f"{copied}\n{rows}"
    assert bool(copying) == bool(permit), f"permitted: {permit}, copied: {copying}\n{explained}"
