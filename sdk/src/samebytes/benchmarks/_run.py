# SPDX-License-Identifier: Apache-2.0
"""Running the benchmarks, with a child process for those of each plugin."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from .._plugins.children import run_child
from .._plugins.discovery import listed
from .._plugins.words import unknown_plugin
from ._found import Offer, offers
from ._report import Row, row_of

__all__ = ["run_benchmarks"]

_CHILD = "samebytes.benchmarks._child"
# The plugins of this project, each an extra of samebytes: named even if they are not installed.
_PLUGINS = frozenset(
    ["ffmpeg", "opencv", "openvino", "dma", "opencl", "level_zero", "vaapi", "gstreamer", "cuda",
     "sycl"]
)  # fmt: skip


def run_benchmarks(
    names: Sequence[str] = (),
    *,
    quick: bool = False,
    timeout: float = 300.0,
    on_plugin: Callable[[str], None] = lambda name: None,
) -> list[Row]:
    """Run the benchmarks that can run here.

    Args:
        names: the names of plugins; all of them by default.
        quick: measure less exactly, and in one size only.
        timeout: seconds that the rows of one plugin may take.
        on_plugin: called with the name of each plugin before its benchmarks run.

    Raises:
        UnknownNameError: there is a name of no plugin with benchmarks.
    """
    offered = offers()
    known = {offer.plugin for offer in offered}
    for name in names:
        if name not in known:
            raise unknown_plugin(name, known)
    rows: list[Row] = []
    for offer in offered:
        if not names or offer.plugin in names:
            on_plugin(offer.plugin)
            rows += _of_plugin(offer, quick=quick, timeout=timeout)
    return rows if names else [*rows, *_without_benchmarks(known)]


def _of_plugin(offer: Offer, *, quick: bool, timeout: float) -> Iterator[Row]:
    if offer.problem:
        names = [b.name for b in offer.benchmarks] or ["all its benchmarks"]
        for name in names:
            yield Row(offer.plugin, name, (0, 0), what=name, reason=offer.problem)
        return
    child = run_child(_CHILD, [offer.plugin, str(int(quick))], timeout)
    began, answered = "", set()
    for line in child.answers:
        answer = json.loads(line)
        if "begins" in answer:
            began = answer["begins"]
        else:
            answered.add(answer["name"])
            yield row_of(answer)
    for benchmark in offer.benchmarks:
        if benchmark.name in answered:
            continue
        ending = child.ending(timeout)
        reason = ending if benchmark.name == began else f"{began!r}, before it, {ending}"
        yield Row(
            offer.plugin, benchmark.name, benchmark.sizes[0], what=benchmark.what, reason=reason
        )


def _without_benchmarks(known: set[str]) -> Iterator[Row]:
    """Rows for plugins that declare no benchmarks, were set aside, or are not installed."""
    found = listed()
    there = {*found.plugins, *(record.name for record in found.set_aside)}
    for name in sorted(_PLUGINS - there):
        reason = f"it {found.absence(name)}"
        yield Row(name, "all its benchmarks", (0, 0), what=f"Plugin {name!r}", reason=reason)
    for record in (*found.plugins.values(), *found.set_aside):
        if record.name in known or not (record.declared.mappers or record.reason):
            continue
        reason = record.reason or "it declares no benchmarks"
        what = f"Plugin {record.name!r}"
        yield Row(record.name, "all its benchmarks", (0, 0), what=what, reason=reason)
