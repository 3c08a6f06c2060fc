# SPDX-License-Identifier: Apache-2.0
"""The tables of the page on the NPU's properties, written from those of samebytes-openvino."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devtools.written import filled
from samebytes_openvino.intel_npu import PLATFORMS, PROPERTIES, Stated

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "npu-properties.md"


def page() -> str:
    """The page with the tables as they are now."""
    rows = ["| key | C++ | type | document | 2026.4.1 | what it is |", "|---|---|---|---|---|---|"]
    for row in PROPERTIES.values():
        star = " *" if row.differs else ""
        seen = _stated(row.observed) + (
            "" if row.listed or row.observed is None else ", not listed"
        )
        if row.observed is None:
            seen = "unsupported"
        rows.append(
            f"| {row.key}{star} | {row.name} | {row.kind.name} | {_stated(row.document)} | {seen} "
            f"| {row.description} |"
        )
    platforms = [
        "| platform | processors | tiles | of | DMA engines | optimal requests |",
        "|---|---|---|---|---|---|",
    ]
    for found in PLATFORMS.values():
        of = " or ".join(map(str, found.total_tiles or ()))
        product = found.product if found.product != "unknown" else ""
        platforms.append(
            f"| {found.name} | {product} | {_numbers(found.tiles)} | {of} | "
            f"{_numbers(found.dma_engines)} | {_numbers(found.requests)} |"
        )
    tables = {"properties": "\n".join(rows), "platforms": "\n".join(platforms)}
    return filled(PAGE.read_text(), tables)


def _stated(stated: Stated | None) -> str:
    if stated is None:
        return "-"
    parts: list[str] = [stated.access]
    if stated.values:
        parts.append(stated.values)
    if stated.default != "":
        names = {True: "YES", False: "NO"} if isinstance(stated.default, bool) else {}
        parts.append(f"default {names.get(stated.default, stated.default)}")
    return "; ".join(parts)


def _numbers(numbers: Mapping[Any, int] | None) -> str:
    return f"{numbers['THROUGHPUT']} / {numbers['LATENCY']}" if numbers else ""


if __name__ == "__main__":
    PAGE.write_text(page())
