# SPDX-License-Identifier: Apache-2.0
"""Findings of `python3 dev.py bench demo --repeat N` in reports of the demo, made up here."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from .bench.repeated_demo import complaints, said, summary

Change = Callable[[dict[str, Any]], None]


def saved(less: int, more: int, *, shown: bool) -> dict[str, Any]:
    return {"samebytes_saved_cpu": {"rounds_less": less, "rounds_more": more, "shown": shown}}


def report() -> dict[str, Any]:
    """One run, as `samebytes demo --json` prints it."""
    ways = {
        "samebytes": {"without_codecs": {}, "all": {}},
        "copying": {"without_codecs": saved(9, 0, shown=True), "all": saved(6, 3, shown=False)},
    }
    return {
        "verified": {"copied_bytes": 0, "equal_addresses": 88, "writes_seen": 48},
        "same_boxes": True,
        "boxes": [[], [[1, 2, 3, 4]]],
        "pipeline": {"ways": ways, "missing": {}},
        "rgb": {"ways": copy.deepcopy(ways), "missing": {}},
    }


def test_runs_as_they_should_be() -> None:
    runs = [report(), report()]
    assert complaints(runs) == []
    assert summary(runs)[:2] == [
        "find and draw boxes, without codecs, beside copying: less 2 times",
        "find and draw boxes, with codecs, beside copying: no difference shown 2 times",
    ]


def test_what_one_run_said() -> None:
    assert dict(said(report())) == {
        (job, part, "copying"): kind
        for job in ("find and draw boxes", "RGB model")
        for part, kind in (("without codecs", "less"), ("with codecs", "no difference shown"))
    }


def copies(run: dict[str, Any]) -> None:
    run["verified"]["copied_bytes"] = 5


def verifies_nothing(run: dict[str, Any]) -> None:
    run["verified"]["writes_seen"] = 0


def finds_other_boxes(run: dict[str, Any]) -> None:
    run["boxes"] = [[], []]


def disagrees(run: dict[str, Any]) -> None:
    run["same_boxes"] = False


def leaves_out(run: dict[str, Any]) -> None:
    run["rgb"]["missing"] = {"by hand": "no reason"}


def contradicts(run: dict[str, Any]) -> None:
    run["rgb"]["ways"]["copying"]["without_codecs"] = saved(0, 9, shown=True)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (copies, "run 2: 5 bytes were copied"),
        (verifies_nothing, "run 2: nothing was verified"),
        (finds_other_boxes, "run 2: other boxes than run 1"),
        (disagrees, "run 2: the ways found different boxes"),
        (leaves_out, "run 2: RGB model: by hand was left out: no reason"),
        (
            contradicts,
            "RGB model, without codecs, beside copying: 1 runs showed less CPU time, 1 showed more",
        ),
    ],
)
def test_what_is_wrong_is_said(change: Change, complaint: str) -> None:
    changed = report()
    change(changed)
    assert complaints([report(), changed]) == [complaint]


def test_no_difference_contradicts_nothing() -> None:
    changed = report()
    changed["rgb"]["ways"]["copying"]["without_codecs"] = saved(3, 6, shown=False)
    assert complaints([report(), changed]) == []
