# SPDX-License-Identifier: Apache-2.0
"""Every edge has a row in `samebytes bench`, and every row can be measured on software devices.

Nothing is timed: each call is made twice.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import samebytes
from samebytes.benchmarks import Benchmark, edge_name, offers

EDGES = {edge_name(e): e for plugin in samebytes.installed_plugins() for e in plugin.edges}
OFFERS = offers()
ROWS = [(offer.plugin, benchmark) for offer in OFFERS for benchmark in offer.benchmarks]

# Edges without a row, and why.
WITHOUT_A_ROW = {
    "gstreamer:VA -> vaapi frame alias": "only elements of GStreamer's VA plugin make such "
    "buffers, and they need a GPU; contrib/gstreamer/tests/test_va.py makes one by hand",
}
# What no software device can do, and what it says.
REFUSED = {
    "opencl -> dma": "reports no descriptor",
    "dma -> cuda": "does not import DMA-BUFs",
    "dma -> opencv_umat": "has no createUMatFromDmaBuf",
    "sycl -> level_zero": "ze_context",
    "level_zero -> sycl": "ze_context",
}


def test_every_edge_has_a_row() -> None:
    measured = {edge for _, benchmark in ROWS for edge in benchmark.edges}
    assert EDGES.keys() - measured == set(WITHOUT_A_ROW)


def test_no_row_is_of_an_edge_that_is_not_there() -> None:
    assert {edge for _, benchmark in ROWS for edge in benchmark.edges} <= EDGES.keys()


def test_all_declarations_are_valid() -> None:
    assert {offer.plugin: offer.problem for offer in OFFERS if offer.problem} == {}
    names = [(plugin, benchmark.name) for plugin, benchmark in ROWS]
    assert len(set(names)) == len(names)


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(b, id=f"{plugin}: {b.name}")
        for plugin, b in ROWS
        if b.name not in REFUSED and "100,000" not in b.name
    ],
)
def test_row(row: Benchmark) -> None:
    ways = _make(row)
    assert (ways.by_hand is None) == bool(row.alone), "a call by hand, or the reason for none"
    assert (ways.by_hand is None) == (not row.beside), "beside= says what by_hand calls"
    try:
        for call in (ways.ours, ways.by_hand, ways.copying):
            for _ in range(2):
                if call is not None:
                    call(*([] if ways.fresh is None else [ways.fresh()]))
    finally:
        if ways.close is not None:
            ways.close()


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize("name", REFUSED)
def test_row_that_software_devices_refuse(name: str) -> None:
    (row,) = [b for _, b in ROWS if b.name == name]
    with pytest.raises(samebytes.SamebytesError, match=REFUSED[name]):
        _make(row)


def _make(row: Benchmark) -> Any:
    module, _, name = row.make.partition(":")
    for package in row.packages:
        pytest.importorskip(package, reason=f"missing package {package}")
    return getattr(importlib.import_module(module), name)(64, 32)
