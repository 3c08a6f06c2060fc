# SPDX-License-Identifier: Apache-2.0
"""The table of docs/reference/ring.md can be written by the benchmark. Nothing is timed."""

from __future__ import annotations

import pytest

from .bench.measure import Row
from .bench.rings import PAGE, ring_table, with_table


def _rows() -> list[Row]:
    rows = []
    for size, ours in (("1080p", 55.4), ("4K", 56.0)):
        rows += [
            Row(f"{size}: the ring, median", None, ours, None, 60.0),
            Row(f"{size}: the ring, least", None, 1.0, None),
            Row(f"{size}: shared_memory by hand, copied in, medians", 700.0, ours, 0.1),
            Row(f"{size}: Ray's object store, one node, medians", 7000.0, ours, 0.01),
            Row(f"{size}: a pipeline on Ray, one node", None, 9000.0, None),
        ]
    return rows


def test_the_medians_are_written_into_the_page() -> None:
    table = ring_table(_rows())
    assert table.splitlines() == [
        "| microseconds | 1080p | 4K |",
        "|---|---|---|",
        "| the ring | 55 | 56 |",
        "| shared_memory by hand, copied in | 700 | 700 |",
        "| Ray's object store, one node | 7000 | 7000 |",
    ]
    page = PAGE.read_text()
    written = with_table(page, table)
    assert table in written
    assert with_table(written, table) == written
    assert written.partition("## What send() does")[2] == page.partition("## What send() does")[2]


def test_a_page_without_a_place_for_it() -> None:
    with pytest.raises(ValueError, match="no place for the table"):
        with_table("# Rings\n", "| |\n")
