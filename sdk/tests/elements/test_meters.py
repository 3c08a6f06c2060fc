# SPDX-License-Identifier: Apache-2.0
"""Meters that are given times which a test chooses, as no pipeline could."""

from __future__ import annotations

import logging

import pytest

import samebytes.elements as el
from samebytes.elements import Progress, _journal, _statistics
from samebytes.elements._progress import progress_of
from samebytes.elements._statistics import Meter

from .pictures import add, numbers


def test_the_time_left_is_by_the_rate_after_the_first_frame() -> None:
    meter = Meter("source")
    meter.frames_in = meter.frames_out = 11
    meter.first, meter.latest = 10**12, 10**12 + 2 * 10**9  # 10 frames in 2 s
    assert progress_of([meter], 21).seconds_left == pytest.approx(2.0)
    assert progress_of([meter, meter], 32).seconds_left == pytest.approx(1.0)
    assert progress_of([meter], 5) == Progress(11, 5, 0.0)  # it was only about right


def test_the_rate_is_without_what_the_first_frame_compiles() -> None:
    meter = Meter("toy")
    second = 1_000_000_000
    now = meter.took(0)  # began long ago: a model was compiled
    meter.took(now)
    meter.latest = meter.first + second
    assert meter.read("toy").fps == 1.0
    one = Meter("toy")
    one.took(0)
    assert one.read("toy").fps == 0.0


def test_the_look_comes_round_while_frames_move(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[bool] = []
    monkeypatch.setattr(_statistics, "LOOK_AFTER", 0)
    monkeypatch.setattr(_journal.Journal, "look", lambda self, run, last=False: looks.append(last))
    el.Pipeline(numbers(count=3), add()).run(threads=0)
    assert looks == [False] * 6 + [True]


def test_a_slow_call_is_said_but_not_of_a_source(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_statistics, "SLOW", -1)
    with caplog.at_level(logging.INFO, "samebytes"):
        el.Pipeline(numbers(count=9), add()).run()
    slow = [text for text in caplog.messages if "call took" in text or "first frame took" in text]
    assert len(slow) == 2
    assert slow[0].startswith("add: its first frame took ")
    assert slow[1].startswith("add: one call took ")
