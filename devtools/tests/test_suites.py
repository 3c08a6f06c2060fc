# SPDX-License-Identifier: Apache-2.0
"""The tests of each distribution alone: what is installed for them, and how long it is there."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from devtools import suites
from devtools.results import Result
from devtools.workspace import DISTRIBUTIONS, CommandError


class Machine:
    """In place of pip and pytest: what was installed, and what was tested."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.venvs: set[Path] = set()
        self.most = self.tested = 0
        self.installed: dict[str, list[str]] = {}
        self.fails = ""
        monkeypatch.setattr(suites, "why_left_out", lambda _: "")
        monkeypatch.setattr(suites, "build_all", self.build)
        monkeypatch.setattr(suites, "audited", lambda *_, **__: Result("packages", True, ""))
        monkeypatch.setattr(suites, "create_venv", self.create)
        monkeypatch.setattr(suites, "must", self.install)
        monkeypatch.setattr(suites, "pytest_run", self.test)

    def build(self, folder: Path, *_: object) -> None:
        folder.mkdir()
        for d in DISTRIBUTIONS:
            (folder / f"{d.name.replace('-', '_')}-0.1.0-py3-none-any.whl").touch()

    def create(self, venv: Path, **_: object) -> None:
        venv.mkdir(parents=True)
        self.venvs.add(venv)
        self.most = max(self.most, sum(venv.exists() for venv in self.venvs))

    def install(self, command: Sequence[str | Path]) -> None:
        (venv,) = (venv for venv in self.venvs if any(venv in Path(w).parents for w in command))
        name = venv.parent.name
        self.installed[name] = [Path(word).name for word in command if ".whl" in str(word)]
        if name == self.fails:
            raise CommandError("no network")

    def test(self, name: str, python: Path, *_: object, cwd: Path, **__: Any) -> Result:
        # As long as it takes to make the next venv, if that is made meanwhile.
        self.tested += 1
        until = time.monotonic() + 20
        while len(self.venvs) <= self.tested < len(DISTRIBUTIONS) and time.monotonic() < until:
            time.sleep(0.001)
        there = python.parent.parent.exists() and (cwd / "conftest.py").exists()
        return Result(name, there, "")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine that installs and tests nothing."""
    return Machine(monkeypatch)


def test_each_is_tested_in_a_venv_of_its_own_and_two_are_there_at_a_time(machine: Machine) -> None:
    results = suites.alone(strict=True)
    names = ["packages", *(f"alone {d.name}" for d in DISTRIBUTIONS)]
    assert [(r.name, r.ok) for r in results] == [(name, True) for name in names]
    assert len(machine.venvs) == len(DISTRIBUTIONS)
    assert machine.most == 2
    assert not any(venv.exists() for venv in machine.venvs)


def test_one_that_cannot_be_installed_fails_alone(machine: Machine) -> None:
    machine.fails = "samebytes-dma"
    failed = [r for r in suites.alone(strict=True) if not r.ok]
    assert failed == [Result("alone samebytes-dma", False, "no network")]


def test_only_tests_on_the_software_gpu_get_its_libraries(machine: Machine) -> None:
    suites.alone(strict=True)
    for d in DISTRIBUTIONS:
        found = [w for w in machine.installed[d.name] if w.startswith("samebytes_softdevices-")]
        assert all(w.endswith(".whl[gpu]") == ("gpu" in d.devices) for w in found), d.name
    assert any("softdevices" in word for word in machine.installed["samebytes-vaapi"])
