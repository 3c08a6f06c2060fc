# SPDX-License-Identifier: Apache-2.0
"""Tests of how the end of a set-up on a fresh machine is judged, and of the machines' list."""

import os

import pytest

from devtools.fresh.root import Ended
from devtools.fresh.trial import HARDEST, MACHINES, judged, says_the_one_command, trials
from devtools.workspace import CommandError

SAID = [
    "python3 dev.py demo ",
    "dev.py: /usr/bin/python3 cannot make a venv. Install what it lacks, then try again:",
    "sudo apt-get install python3.13-venv",
    "make: *** [Makefile:7: demo] Error 1",
]
SET_UP = "set-up took 51 s, 174 MB were downloaded"


def test_a_set_up_says_what_it_took() -> None:
    good = Ended(0, ["python3 dev.py demo", SET_UP, "the demo's own words"])
    assert judged(good, 200) == (True, SET_UP)


def test_what_was_there_already_is_no_failure() -> None:
    assert judged(Ended(0, ["last", ""]), 1300) == (True, "last")


def test_more_than_announced_is_a_failure() -> None:
    ok, why = judged(Ended(0, [SET_UP.replace("174", "201")]), 200)
    assert not ok
    assert "201 MB" in why
    assert judged(Ended(0, [SET_UP.replace("174", "201")]), 1300)[0]


def test_a_failure_says_why() -> None:
    lines = [SET_UP, "dev.py: the set-up failed: openvino", "make: *** [Makefile:7: demo] Error 1"]
    ok, why = judged(Ended(2, lines), 200)
    assert not ok
    assert why == "status 2: dev.py: the set-up failed: openvino"


def test_without_venv_the_one_command_is_all_that_is_said() -> None:
    assert says_the_one_command(Ended(2, SAID), 200)[0]
    for wrong in (
        Ended(0, SAID),
        Ended(2, ["not installed: gcc", *SAID]),
        Ended(2, SAID[:2]),
        Ended(2, [SAID[0], SAID[1], "sudo apt-get install gcc"]),
    ):
        assert not says_the_one_command(wrong, 200)[0]


def test_the_hardest_machine_has_no_compiler() -> None:
    assert MACHINES[HARDEST].packages == ("python3-venv",)
    assert [name for name in MACHINES if not MACHINES[name].makes_venvs] == ["bare"]


def test_what_cannot_be_tried_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CommandError, match="needs root"):
        trials(HARDEST, ["demo"])
