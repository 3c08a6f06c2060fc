# SPDX-License-Identifier: Apache-2.0
"""The page of the long run: what works, what must be allowed to copy, and what fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from textwrap import fill

from .asking import Outcome
from .cases import ACCESS, WRITERS, Case
from .converting import CONVERTS
from .models import MODELS
from .rules import copies_needed, known
from .sources import SOURCES
from .stages import REGIONS

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parents[2] / "docs/reference/product.md"
_COMMAND = "python3 -m tests.product"
_WHO = {
    "pipeline": "`Pipeline(copy=True)`",
    "model": "`openvino.infer(copy=True)`",
    "ring": "`ring.sink(copy=True)`",
}
_LETTERS = {"pipeline": "P", "model": "M"}


def page(found: Sequence[Outcome]) -> str:
    """The page.

    Args:
        found: of the whole list.
    """
    lines = [*_head(found), *_sources(found), *_refusals(found), *_failures(found), ""]
    return "\n".join(map(_wrapped, lines))


def _wrapped(line: str) -> str:
    return (
        line
        if line.startswith(("|", "<!--", "#", _COMMAND))
        else fill(line, 120, break_on_hyphens=False)
    )


def _head(found: Sequence[Outcome]) -> Iterator[str]:
    failed = sum(bool(one.failed) for one in found)
    yield "# Which pipelines were tried"
    yield ""
    yield (
        "This page lists tests of every source with every model and every writer, and of every "
        "other pair of choices: the access that an element behind the source asks for, a second "
        "stage on the objects that the model finds, ends, conversions to RGB, and 0, 1 or 2 "
        "threads. Each pipeline is compared with a plain loop over the frameworks themselves: "
        "the bytes, boxes and classes of each frame, in the program, in branches and in the "
        "written output. Every frame that was read must be accounted for, and live sources "
        'leave out frames that nobody takes (`when_full="drop-oldest"`). Copies are made where '
        "`explain()` announces them and nowhere else. If a copy is needed and not allowed, the "
        "pipeline is refused, by name and before the first frame."
    )
    yield ""
    yield "<!-- not run: it takes ten minutes; tests/product/test_product.py runs every pair -->"
    yield "```sh"
    yield f"{_COMMAND} --write     # every triple, on software devices; writes this page"
    yield f"{_COMMAND} --source file --model GPU"
    yield f'{_COMMAND} "file / r / GPU / stretch / draw / ffmpeg / torch / 1"'
    yield "```"
    yield ""
    yield (
        f"The run of {date.today()}: {len(found)} pipelines, of which {failed} failed. A case is "
        "written as in the last line: source, what is asked behind it, model, regions, writer, "
        "end, conversion, threads."
    )
    yield ""
    yield "| | |"
    yield "|---|---|"
    yield "| asked | " + "; ".join(f"{name}: {text}" for name, text in ACCESS.items()) + " |"
    yield (
        "| models | none: no model, and a box is added if one is drawn; CPU, GPU, NPU; "
        "batch: four frames an inference; resize: by `samebytes_opencv.resize`, on the CPU |"
    )
    yield "| regions | " + "; ".join(f"{name}: {text}" for name, text in REGIONS.items()) + " |"
    yield "| writers | " + "; ".join(f"{name}: {text}" for name, text in WRITERS.items()) + " |"
    yield (
        "| ends | the program; `json.sink`; `ffmpeg.sink`; `gstreamer.sink`; `ring.sink`, which "
        "needs `copy=True` except for rings and surfaces that nobody had to copy |"
    )
    yield "| conversions | " + "; ".join(f"{n}: {text}" for n, text in CONVERTS.items()) + " |"
    yield ""


def _sources(found: Sequence[Outcome]) -> Iterator[str]:
    yield "## By source"
    yield ""
    yield (
        "yes: nothing is copied. P: it needs `Pipeline(copy=True)`, M: `openvino.infer(copy=True)`"
        "; without, it is refused. no: [it fails](#what-fails)."
    )
    for source in SOURCES.values():
        yield ""
        yield f"### {source.name}"
        yield ""
        title = source.title[0].upper() + source.title[1:]
        yield f"{title}; {source.format}. `{_COMMAND} --source {source.name}`"
        yield ""
        yield f"| model | {' | '.join(WRITERS)} |"
        yield "|---" * (1 + len(WRITERS)) + "|"
        for model in MODELS:
            cells = [_cell(found, source.name, model, writer) for writer in WRITERS]
            yield f"| {model} | {' | '.join(cells)} |"


def _cell(found: Sequence[Outcome], source: str, model: str, writer: str) -> str:
    here = [
        one for one in found
        if (one.case.source, one.case.model, one.case.writer) == (source, model, writer)
    ]  # fmt: skip
    if any(one.failed for one in here):
        return "no"
    needed = copies_needed(replace(here[0].case, access="as it comes"))
    letters = [letter for who, letter in _LETTERS.items() if who in needed]
    return ", ".join(letters) or "yes"


def _refusals(found: Sequence[Outcome]) -> Iterator[str]:
    yield ""
    yield "## What is refused unless it may copy"
    yield ""
    yield "| why | who may | such a case |"
    yield "|---|---|---|"
    seen: dict[tuple[str, str], Case] = {}
    for one in found:
        for who, why in copies_needed(one.case).items():
            if not one.failed:
                seen.setdefault((why, who), one.case)
    for (why, who), case in seen.items():
        yield f'| {why} | {_WHO[who]} | `{_COMMAND} "{case}"` |'


def _failures(found: Sequence[Outcome]) -> Iterator[str]:
    yield ""
    yield "## What fails"
    yield ""
    failed = [one for one in found if one.failed]
    if not failed:
        yield "Nothing."
        return
    yield "| why | cases | such a case |"
    yield "|---|---|---|"
    reasons: dict[str, list[Case]] = {}
    for one in failed:
        entry = known(one.case)
        reasons.setdefault("not known" if entry is None else entry.why, []).append(one.case)
    for why, cases in reasons.items():
        yield f'| {why} | {len(cases)} | `{_COMMAND} "{cases[0]}"` |'
