# SPDX-License-Identifier: Apache-2.0
"""Tests of the parts that `dev.py test` runs, and of what a missing lab means."""

import tomllib
from collections.abc import Sequence

import pytest

from devtools import commands, removal
from devtools.commands import _chosen_parts, _lab_where_it_can_be, _parser, _together
from devtools.lab.kernel import LabUnavailableError, MissingToolError
from devtools.results import Result
from devtools.suites import parts_together
from devtools.workspace import ROOT, Distribution

EVERYTHING = {"lint", "together", "alone", "without", "lab"}


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("", EVERYTHING),
        ("--strict", EVERYTHING),
        ("--together", {"lint", "together"}),
        ("--alone", {"alone"}),
        ("--alone --without", {"alone", "without"}),
        ("--without samebytes-dma", {"without"}),
        ("--newer", {"newer"}),
        ("--hardware", {"hardware"}),
        ("--hardware -k npu", {"hardware"}),
        ("-k planes backends/ffmpeg", {"together"}),
        ("--strict -x sdk", {"together"}),
        ("--strict --fresh", EVERYTHING | {"fresh"}),
        ("--strict --ci", EVERYTHING | {"fresh", "newer"}),
    ],
)
def test_parts(words: str, parts: set[str]) -> None:
    options, rest = _parser().parse_known_args(["test", *words.split()])
    assert _chosen_parts(options, rest) == parts


@pytest.mark.parametrize(
    ("words", "removed"),
    [
        ("--ci", len(removal.BACKENDS)),
        ("--without samebytes-dma", 1),
        ("--without", len(removal.BACKENDS)),
    ],
)
def test_every_backend_is_removed_unless_one_is_named(
    monkeypatch: pytest.MonkeyPatch, words: str, removed: int
) -> None:
    found: list[str] = []

    def without(backends: Sequence[Distribution], **_: object) -> Result:
        found.extend(backend.name for backend in backends)
        return Result("without", True, "")

    monkeypatch.setattr(removal, "_without", without)
    monkeypatch.setattr(removal, "why_left_out", lambda _: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(commands, "write_results", lambda _, results: list(results))
    assert commands.main(["test", *words.split(), "--part", "without"]) == 0
    assert len(found) == removed


def test_the_tests_together_run_in_parts_unless_pytest_gets_arguments() -> None:
    parts = parts_together()
    ini = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert sorted(path for paths in parts.values() for path in paths) == sorted(ini["testpaths"])
    assert {*parts} == {"sdk", "backends", "contrib", "rest"}
    assert [*_together([], strict=True, may_miss=())] == [f"together {name}" for name in parts]
    assert [*_together(["-x"], strict=True, may_miss=())] == ["together"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kind", [MissingToolError, LabUnavailableError])
def test_a_lab_that_cannot_be_had_is_loud(
    monkeypatch: pytest.MonkeyPatch, kind: type[LabUnavailableError], *, strict: bool
) -> None:
    def unavailable(**_: object) -> Result:
        raise kind("no way to it")

    monkeypatch.setattr(commands, "lab", unavailable)
    result = _lab_where_it_can_be(strict=strict, may_miss=[])
    assert result.ok == (not strict or kind is not MissingToolError)
    assert str(result).startswith("not run" if result.ok else "FAILED")
    assert "no way to it" in str(result)


@pytest.mark.parametrize("count", ["0", "-1", "two"])
def test_numbers_are_checked(count: str) -> None:
    with pytest.raises(SystemExit):
        _parser().parse_known_args(["test", "--jobs", count])
