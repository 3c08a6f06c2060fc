# SPDX-License-Identifier: Apache-2.0
"""A short run of the fault injection: `python3 dev.py faults` has all operations."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest

from samebytes.plugins import Fd

from .interrupting import interrupts_of
from .operations import OPERATIONS
from .random_moments import run_children
from .running import outcomes_of, table


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
    ["allocate dma", "allocate opencl", "allocate level_zero", "allocate vaapi", "map dma",
     "map vaapi", "cpu -> opencl", "cpu -> level_zero", "dma -> opencl", "dma -> vaapi",
     "dma -> ffmpeg:DRM", "vaapi -> dma", "vaapi -> openvino:GPU", "level_zero -> openvino:NPU"],
)  # fmt: skip
def test_an_interrupt_at_each_step_leaks_one_thing_at_most(name: str) -> None:
    """That which it struck at; nothing is given back twice, and the next call works."""
    first, *steps = (Counter(owed) for owed in interrupts_of(name))
    assert len(steps) > 100
    most = first.total()
    for step, owed in enumerate(steps):
        assert min(owed.values()) >= 0, f"given back twice at step {step}: {owed}"
        assert owed.total() <= most + 1, f"step {step} leaks more than one thing: {owed}"
        most = max(most, owed.total())
    # Only where an owner is empty, and the call that gives back what it had is not made yet.
    assert most - first.total() < len(steps) / 50


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize("name", ["map opencl", "ring", "pool", "pipeline", "queue CPU"])
def test_strikes_at_random_moments(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is lost, stuck or wrong: `python3 dev.py faults --random 3600` has all subjects."""
    assert run_children(4, [name]) == 0, capfd.readouterr().out
    assert "0 findings" in capfd.readouterr().out


# A step is in a module whose name begins with "samebytes".
_OWNER_COMES_LATE = """
def run():
    number = os.memfd_create("lost")
    owner = Fd(number)
"""


def test_what_an_interrupt_loses_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the call and its owner there is a line, where an exception leaves a descriptor."""
    known: dict[str, Any] = {"__name__": "samebytes_late", "os": os, "Fd": Fd}
    exec(_OWNER_COMES_LATE, known)
    monkeypatch.setitem(OPERATIONS, "late", lambda: known["run"])
    first, *_, last = interrupts_of("late")
    assert last["descriptors"] > first["descriptors"]
