# SPDX-License-Identifier: Apache-2.0
"""Measurements: their statistics, with numbers made up, and the threads that stages may use."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import pytest

from samebytes_demo._reader import Reader
from samebytes_demo._rounds import Comparison, take_turns
from samebytes_demo._statistics import Paired, Spread, by_chance, verdict
from samebytes_demo._stopwatch import Cost, Stopwatch, Timing
from samebytes_demo._tables import as_dict, table, verdicts
from samebytes_demo._writer import Writer

from .conftest import Transcode


def timing(decode: float, hand_over: float, copied: int = 0) -> Timing:
    """A pass of ten frames; milliseconds of CPU time a frame, of which the clock sees twice."""
    return Timing(
        {
            "decode": Cost(decode / 50, decode / 100, 0),
            "hand over": Cost(hand_over / 50, hand_over / 100, copied * 10),
        },
        10,
    )


def comparison(ours: list[Timing], theirs: list[Timing]) -> Comparison:
    return Comparison(("decode",), {"samebytes": ours, "copying": theirs})


def test_the_median_and_the_range() -> None:
    assert Spread.of([3, 1, 9]) == Spread(3, 1, 9)
    assert Spread.of([4, 1, 2, 3]) == Spread(2.5, 1, 4)
    assert Spread.of([5]) == Spread(5, 5, 5)
    assert str(Spread(1.234, 0.5, 10)) == "1.23 (0.50 to 10.00)"


@pytest.mark.parametrize(
    ("agree", "rounds", "chance"),
    [(9, 9, 2 / 512), (8, 9, 20 / 512), (7, 9, 92 / 512), (7, 7, 2 / 128), (5, 9, 1), (1, 1, 1)],
)
def test_how_often_rounds_agree_by_chance(agree: int, rounds: int, chance: float) -> None:
    assert by_chance(agree, rounds) == pytest.approx(chance)


def test_as_many_for_as_against_is_chance() -> None:
    assert by_chance(2, 4) == by_chance(1, 4) == by_chance(0, 9) == 1


def paired(*saved: float) -> Paired:
    """Rounds in which the other way took 10 ms."""
    return Paired.of([10 - each for each in saved], [10.0] * len(saved))


@pytest.mark.parametrize(
    ("saved", "shown"),
    [
        ((1,) * 9, True),
        ((1,) * 8 + (-5,), True),  # however large the odd one is
        ((1,) * 7 + (-1,) * 2, False),
        ((1,) * 8 + (0,), True),
        ((1,) * 7 + (0, 0), False),  # a tie agrees with nobody
        ((0,) * 9, False),
        ((-1,) * 8 + (5,), True),
        ((1,) * 6, True),
        ((1,) * 5, False),  # so few agree by chance
    ],
)
def test_a_difference_is_shown_where_rounds_agree(saved: tuple[float, ...], shown: bool) -> None:
    assert paired(*saved).shown is shown


def test_a_slow_round_slows_both() -> None:
    """The ranges overlap widely, and still each round shows the same."""
    busy = [1.0, 2, 4, 8, 16, 3, 9, 5, 7]
    found = Paired.of([8 * b for b in busy], [9 * b for b in busy])
    assert found.ours.high > found.theirs.median
    assert found.shown
    assert (found.less, found.more, found.median) == (9, 0, 5)


def test_less_is_said_with_how_much() -> None:
    ours, theirs = [8.0, 7, 9] * 3, [10.0, 9.5, 12] * 3
    assert verdict(Paired.of(ours, theirs), "the other") == (
        "samebytes took 8.00 (7.00 to 9.00) ms, the other 10.00 (9.50 to 12.00) ms: 2.50 ms less "
        "(25 %), in 9 of 9 rounds."
    )


def test_more_is_not_hidden() -> None:
    said = verdict(paired(*(-2.0,) * 8, 1), "the other")
    assert said.endswith(": 2.00 ms MORE (20 %), in 8 of 9 rounds.")


def test_nothing_is_claimed_where_rounds_disagree() -> None:
    """However far the medians are apart."""
    said = verdict(paired(*(5.0,) * 7, -0.1, -0.1), "the other")
    assert said.endswith(": less in 7 of 9 rounds, more in 2, so no difference was shown.")


def test_milliseconds_and_megabytes_a_frame() -> None:
    one = timing(3, 1, copied=2_000_000)
    assert one.cpu_ms() == pytest.approx(4)
    assert one.cpu_ms("decode") == pytest.approx(3)
    assert one.wall_ms("decode", "hand over") == pytest.approx(8)
    assert (one.copied_mb(), one.copied_mb("decode")) == (2, 0)
    assert Timing({"decode": Cost()}).cpu_ms() == 0  # no frame


def test_sums_are_made_before_medians() -> None:
    """A pass with a slow decoder and a quick rest is one pass."""
    passes = [timing(1, 9), timing(9, 1), timing(5, 5)]
    both = comparison(passes, passes)
    spread = both.cpu("samebytes")
    assert [spread.low, spread.median, spread.high] == pytest.approx([10, 10, 10])
    assert both.cpu("samebytes", "decode").median == pytest.approx(5)


def test_the_table() -> None:
    ours = [timing(5.0, 1.0), timing(5.2, 1.1), timing(5.1, 1.2)] * 3
    decode = [5.1, 5.1, 5.2, 5.1, 5.3, 5.0, 5.1, 5.3, 5.2]
    hand_over = [4.0, 4.1, 4.2] * 3
    theirs = [timing(d, h, 3_110_400) for d, h in zip(decode, hand_over, strict=True)]
    lines = [line.split() for line in table(comparison(ours, theirs), "MB saved")]
    assert lines[0] == [
        "CPU", "ms", "a", "frame", "samebytes", "copying", "saved", "MB", "saved",
    ]  # fmt: skip
    assert lines[1] == ["decode", "5.10", "5.10", "(0.10)", "0.00"]  # 7 of 9 rounds
    assert lines[2] == ["hand", "over", "1.10", "4.10", "3.00", "3.11"]
    assert lines[3] == ["all", "6.30", "9.20", "3.10", "3.11"]
    assert lines[4] == ["all,", "wall", "time", "12.60", "18.40", "6.20", "3.11"]


def test_the_table_of_one_way() -> None:
    alone = Comparison(("decode",), {"samebytes": [timing(5, 1)]})
    assert [line.split()[-1] for line in table(alone, "MB saved")] == [
        "samebytes", "5.00", "1.00", "6.00", "12.00",
    ]  # fmt: skip
    assert verdicts(alone, "Between", "All") == []


def test_each_part_of_the_work_has_its_verdict() -> None:
    ours = [timing(5.0, 1.0), timing(9.0, 1.1)] * 4
    theirs = [timing(5.1, 4.0), timing(5.9, 4.1)] * 4
    between, everything = verdicts(comparison(ours, theirs), "Between", "All")
    assert between.startswith("Between: samebytes took 1.05 (1.00 to 1.10) ms, the ")
    assert (
        "the copying idiom 4.05 (4.00 to 4.10) ms: 3.00 ms less (74 %), in 8 of 8 rounds."
        in between
    )
    assert everything.startswith("All: samebytes took")
    assert everything.endswith("less in 4 of 8 rounds, more in 4, so no difference was shown.")


def test_json_has_all_of_it() -> None:
    ours = [timing(5, 1), timing(6, 2)]
    theirs = [timing(5, 3, 3_000_000), timing(6, 4, 3_000_000)]
    reported = as_dict(comparison(ours, theirs))
    assert (reported["frames"], reported["rounds"]) == (10, 2)
    way = reported["ways"]["samebytes"]
    assert way["stages"]["decode"]["cpu_ms"] == pytest.approx({"median": 5.5, "low": 5, "high": 6})
    assert way["without_codecs"]["wall_ms"]["high"] == pytest.approx(4)
    assert way["all"]["cpu_ms"]["low"] == pytest.approx(6)
    assert "samebytes_saved_cpu" not in way["all"]
    theirs_all = reported["ways"]["copying"]["all"]
    assert theirs_all["mb"] == 3
    for clock, ms in (("cpu", 2), ("wall", 4)):
        assert theirs_all[f"samebytes_saved_{clock}"] == pytest.approx(
            {"ms": ms, "rounds_less": 2, "rounds_more": 0, "shown": False}
        )


def test_ways_take_turns_and_begin_in_turns() -> None:
    ran: list[str] = []

    def way(name: str) -> Timing:
        ran.append(name)
        return timing(1, 1)

    done: list[int] = []
    names = ("samebytes", "by hand", "copying")
    ways = {name: partial(way, name) for name in names}
    result = take_turns(ways, 4, ["decode"], done.append)
    rounds = [ran[i : i + 3] for i in range(0, 12, 3)]
    assert [sorted(r) for r in rounds] == [sorted(names)] * 4
    assert [r[0] for r in rounds] == ["samebytes", "by hand", "copying", "samebytes"]
    assert done == list(range(1, 13))
    assert result.names == list(names)
    assert result.rounds == 4
    assert result.between == ["hand over"]


def test_the_stopwatch_bills_each_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at the clock and at the counter is billed to nobody."""
    now = iter([0.0, 1.0, 5.0, 7.0, 20.0])
    cpu = iter([0.0, 0.5, 5.0, 6.0, 20.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(now))
    monkeypatch.setattr(time, "process_time", lambda: next(cpu))
    counter = iter([100, 100, 130])
    watch = Stopwatch(("decode", "hand over"), lambda: next(counter))
    watch.lap("decode")
    watch.lap("hand over")
    assert watch.timing.stages == {"decode": Cost(1, 0.5, 0), "hand over": Cost(2, 1, 30)}


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc here: run it on Linux")
def test_one_thread_for_each_codec(transcode: Transcode, tmp_path: Path) -> None:
    """Else stages would measure how long one waits for the other."""
    source = transcode(frames=12)

    def started(threads: int) -> int:
        running = Path("/proc/self/task")
        before = len(list(running.iterdir()))
        with (
            Reader(source, threads=threads) as reader,
            Writer(tmp_path / "out.mp4", reader, threads=threads) as writer,
        ):
            for frame in reader.frames():
                writer.write(frame)
            now = len(list(running.iterdir()))
            reader.let_go()
            writer.finish()
        return now - before

    assert started(1) <= 0
    assert started(3) > 1
