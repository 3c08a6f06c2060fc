# SPDX-License-Identifier: Apache-2.0
"""The options of a run of pytest."""

import tomllib
from pathlib import Path

import hypothesis
import pytest

import samebytes.testing
from devtools import pytest_run
from devtools.pytest_run import on
from devtools.workspace import ROOT, SOFTDEVICES


def test_software_devices_are_used_where_they_are_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left_out: dict[str, str] = {}
    monkeypatch.setattr(pytest_run, "why_left_out", left_out.get)
    assert on(("gpu", "npu"), strict=True) == ["--softdevices=gpu,npu"]
    assert on(("gpu", "npu"), strict=False)[1:] == ["--softdevices-optional"]
    assert on((), strict=True) == []
    # Without their pytest plugin the option would be an error.
    left_out[SOFTDEVICES.name] = "no compiler"
    assert on(("gpu", "npu"), strict=True) == []


def test_no_example_of_hypothesis_is_timed() -> None:
    assert hypothesis.settings().deadline is None


@pytest.mark.parametrize("name", pytest_run._OF_THE_KIT)
def test_what_of_the_kit_is_left_out_in_other_company_is_there(name: str) -> None:
    """So that a test that is renamed does not make those runs long."""
    suites = [getattr(samebytes.testing, suite) for suite in samebytes.testing.__all__]
    assert any(name in test for suite in suites for test in dir(suite) if test.startswith("test_"))


def test_the_mark_of_what_is_run_together_alone_is_known() -> None:
    ini = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert pytest_run._ONLY_TOGETHER in [marker.partition(":")[0] for marker in ini["markers"]]


def test_processes_of_tests_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a container changes nothing: children that compile again take longer."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    given: dict[str, str] = {}

    def run(*_: object, env: dict[str, str], **__: object) -> int:
        given.update(env)
        return 0

    monkeypatch.setattr(pytest_run, "run", run)
    pytest_run.pytest_run("some", Path("python"), [], strict=False)
    assert "PYTHONDONTWRITEBYTECODE" not in given
    assert given.keys() >= pytest_run.ENVIRONMENT.keys()


def test_names_of_folders_look_like_commands_with_a_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As random names do now and then: a test that fails there fails in each run."""
    given: list[str] = []

    def run(*_: object, env: dict[str, str], **__: object) -> int:
        given.append(env["TMPDIR"])
        return 0

    monkeypatch.setattr(pytest_run, "run", run)
    pytest_run.pytest_run("some", Path("python"), [], strict=False)
    assert "-u" in Path(given[0]).parent.name[:-8]  # the rest is random
