# SPDX-License-Identifier: Apache-2.0
"""A short run of the fault injection: `python3 dev.py faults` has all operations."""

from __future__ import annotations

import random
import re
import signal
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from samebytes.plugins import deferred

from .random_moments import run_children, strike_one
from .running import outcomes_of, table
from .sites import SITES, codes_of_sites, function_at, names_of_sites, sites_table
from .striking import Striker
from .subject import LONG, Subject
from .subjects import SUBJECTS
from .turns import Turns


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize(
    "name",
    ["map dma", "map vaapi", "map opencl", "dma -> opencl", "allocate level_zero",
     "send and receive", "map ffmpeg"],
)  # fmt: skip
def test_each_native_call_may_fail(name: str) -> None:
    """It is an error by name, nothing is left, and the operation works again."""
    found = outcomes_of(name, repeats=5)
    assert len(found) > 3
    assert any(outcome.how in ("error", "another way") for outcome in found)
    wrong = [outcome for outcome in found if outcome.how == "wrong"]
    assert not wrong, table(wrong) + "".join(f"\n{outcome}" for outcome in wrong)


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize(
    "name",
    [
        "map vaapi",
        "dma -> opencl",
        "vaapi -> openvino:GPU",
        "copy cpu -> opencv_umat",
        "ring",
        "pool",
        "pipeline",
        "joining",
        "aside",
        "queue CPU",
    ],
)
def test_strikes_at_random_moments(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is lost, stuck or wrong: `python3 dev.py faults --random 3600` has all subjects."""
    assert run_children(3, [name]) == 0, capfd.readouterr().out
    said = capfd.readouterr().out
    assert "0 findings" in said
    assert re.search(r"^ +[1-9]\d* (acquire|release|hand over): ", said, re.MULTILINE), said


# What is struck is in a module whose name begins with "samebytes".
_TORN = """
def run(done):
    done[0] += 1
    sum(range(200))
    done[1] += 1
"""


class _Torn(Subject):
    def __init__(self) -> None:
        self.known: dict[str, Any] = {"__name__": "samebytes_torn"}
        exec(_TORN, self.known)
        self.done = [0, 0]

    def work(self) -> None:
        self.known["run"](self.done)

    def check(self) -> None:
        assert self.done[0] == self.done[1], "torn"


@pytest.mark.usefixtures("default_signals")
def test_what_a_strike_tears_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SUBJECTS, "torn", _Torn)
    with pytest.raises(AssertionError, match="torn"):
        strike_one("torn", 1, 20)


def test_sites_are_there_and_their_strikes_are_shown() -> None:
    names = set(codes_of_sites().values())
    assert len(names) == sum(map(len, SITES.values()))
    often, *others = sorted(names)
    table = sites_table(Counter({often: 123}))
    assert f"     123 {often}" in table
    assert f"{len(names)} sites, 1 of them struck 100 times" in table
    assert all(f"       0 {name}" in table for name in others)


@pytest.mark.usefixtures("default_signals")
def test_a_signal_in_a_deferred_section_counts_where_it_came() -> None:
    """The exception comes at the end of the section, in other code."""
    striker = Striker(random.Random(1))
    wanted = "acquire: samebytes.elements._threads:Threads.start"
    threads: Any = SimpleNamespace(_threads=[(SimpleNamespace(start=_raise_alarm), None)])
    after = []
    try:
        with striker.within(LONG, wanted), deferred():
            function_at(wanted.partition(": ")[2])(threads)
            after.append("the section went on")
    finally:
        striker.end()
    assert striker.struck
    assert after
    assert striker.sites == {wanted: 1}


def _raise_alarm() -> None:
    signal.raise_signal(signal.SIGALRM)


def test_subjects_that_reach_what_was_struck_seldom_come_more_often() -> None:
    often, seldom, never, *_ = names_of_sites()

    def order(seed: int) -> list[str]:
        turns = Turns(["a", "b", "c"], seed)
        came = {"a": {often: 900}, "b": {seldom: 2}, "c": {seldom: 1}}
        for _ in range(3):
            name = turns.next()
            turns.add(name, came.pop(name), (), 3)
        assert not came
        said = turns.why_seldom()
        assert "2.00 s a strike in b, c\n" in said
        assert f"{never}: nothing" in said
        assert often not in said
        return [turns.next() for _ in range(200)]

    assert order(5) == order(5)
    assert Counter(order(5)[1::2]).most_common()[2][1] == 33
    assert order(5)[::2].count("b") > 90
