# SPDX-License-Identifier: Apache-2.0
"""Times go on, whatever the clock of a source does."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import pytest

import samebytes.elements as el

LENGTH = Fraction(1, 25)
BASE = Fraction(1, 90_000)
DAYS = 7 * 86_400


def times(
    given: list[float | None], *, live: bool = False, passes: int = 1, base: Fraction = BASE
) -> list[Fraction]:
    """Return the times that a timeline gives to frames with such times."""
    timeline = el.Timeline(live=live)
    found = []
    for number in range(passes):
        if number:
            timeline.begin_again()
        for seconds in given:
            known = None if seconds is None else round(seconds / base)
            pts, unit = timeline.place(known, None if known is None else base, LENGTH)
            found.append(pts * unit)
    return found


def steps(found: list[Fraction]) -> list[Fraction]:
    return [after - before for before, after in pairwise(found)]


@pytest.mark.parametrize("live", [False, True])
def test_times_in_order_stay_as_they_are(live: bool) -> None:
    given = [1.48, 1.52, 1.56, 1.6, 3.0, 9.0]
    assert [float(one) for one in times(list(given), live=live)] == pytest.approx(given)


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("back", [0.2, 1, 3600, 10**6])
def test_a_step_back_goes_on_after_the_last_frame(back: float, live: bool) -> None:
    begin = 2.0 * 10**6
    given = [begin, begin + 0.04, begin + 0.08 - back, begin + 0.12 - back]
    assert steps(times(list(given), live=live)) == [LENGTH] * 3


def test_frames_out_of_order_shift_nothing() -> None:
    found = times([0, 0.04, 0.08, 0.06, 0.04, 0.12, 0.12, 0.16])
    assert min(steps(found)) > 0
    assert found[5] == Fraction(12, 100)
    assert found[-1] == Fraction(16, 100)


def test_a_live_clock_that_steps_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """A film may show an hour in one picture; what a camera took came after that hour."""
    given: list[float | None] = [0, 0.04, 0.08 + 3600, 0.12 + 3600]
    assert times(given)[-1] == Fraction(12, 100) + 3600
    assert times(given, live=True) == [Fraction(4 * n, 100) for n in range(4)]
    timeline = el.Timeline(live=True)
    for now in (0, 3600):
        monkeypatch.setattr("time.monotonic", lambda now=now: float(now))
        pts = round(now / BASE)
        assert timeline.place(pts, BASE, LENGTH) == (pts, BASE)


def test_a_pass_follows_the_one_before() -> None:
    assert times([5, 5.04], passes=3) == [5 + Fraction(4 * n, 100) for n in range(6)]
    assert times([None, None], passes=2) == [Fraction(4 * n, 100) for n in range(4)]


def test_a_pass_whose_times_are_ahead_keeps_them() -> None:
    timeline = el.Timeline()
    timeline.place(0, BASE, LENGTH)
    timeline.begin_again()
    assert timeline.place(900_000, BASE, LENGTH) == (900_000, BASE)


def test_frames_without_a_time_come_after_the_one_before() -> None:
    assert times([1000, None, 1000.08, None, None, 1000.2]) == [
        1000 + Fraction(4 * number, 100) for number in range(6)
    ]


@pytest.mark.parametrize("rate", [Fraction(30), Fraction(24_000, 1001), Fraction(60)], ids=str)
@pytest.mark.parametrize("unit", [Fraction(1, 1000), Fraction(1, 100), Fraction(1, 25)], ids=str)
def test_what_is_rounded_does_not_add_up(unit: Fraction, rate: Fraction) -> None:
    """A thousand frames without times are as long as the rate says, in units that hold them."""
    timeline = el.Timeline()
    found = [timeline.place(None, unit, 1 / rate)[0] * unit for _ in range(1001)]
    assert min(steps(found)) > 0
    expected = 1000 * max(1 / rate, unit)
    assert 0 <= found[-1] - expected < unit


@pytest.mark.parametrize("live", [False, True])
def test_a_stream_whose_first_time_was_made_up(live: bool) -> None:
    """Cameras say the day since 1970 once they know it."""
    assert times([None, DAYS, DAYS + 0.04], live=live) == [Fraction(4 * n, 100) for n in range(3)]


def test_frames_of_one_time_are_a_millisecond_apart_if_they_are_long_enough() -> None:
    for length, apart in ((LENGTH, Fraction(1, 1000)), (Fraction(1, 2000), Fraction(1, 8000))):
        timeline = el.Timeline()
        fine = Fraction(1, 10**9)
        found = [pts * base for pts, base in (timeline.place(7, fine, length) for _ in range(3))]
        assert steps(found) == [apart] * 2


def test_units_that_change() -> None:
    timeline = el.Timeline()
    coarse, fine = Fraction(1, 10), Fraction(1, 10**9)
    found = [
        timeline.place(pts, base, LENGTH)
        for pts, base in ((50_000_000, fine), (0, coarse), (1, coarse), (140_000_000, fine))
    ]
    assert found == [(50_000_000, fine), (1, coarse), (2, coarse), (201_000_000, fine)]
    # Without a time: as long as the one before, in the units that the frame has, up to whole ones.
    assert timeline.place(None, fine, LENGTH) == (241_000_000, fine)
    assert timeline.place(None, coarse, LENGTH) == (3, coarse)
    assert timeline.place(5, None, LENGTH) == (4, coarse)


@pytest.mark.parametrize("seed", range(20))
def test_any_times_at_all_rise(seed: int) -> None:
    draw = random.Random(seed)
    timeline = el.Timeline(live=bool(seed % 2))
    last = None
    for _ in range(500):
        base = draw.choice((BASE, Fraction(1, 10**9), Fraction(1, 25), None))
        pts = draw.choice((None, 0, 1, draw.randrange(-(2**40), 2**62)))
        if draw.random() < 0.05:
            timeline.begin_again()
        pts, unit = timeline.place(pts, base, draw.choice((LENGTH, Fraction(1, 10**9))))
        assert last is None or pts * unit > last
        last = pts * unit
