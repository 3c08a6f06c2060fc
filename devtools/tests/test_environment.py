# SPDX-License-Identifier: Apache-2.0
"""Tests of what a set-up installs, leaves out and remembers. pip is a recorder here."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from devtools import environment, parts, pip, venv
from devtools.environment import (
    left_out,
    prepare,
    prepare_demo,
    prepare_tests,
    why_left_out,
)
from devtools.system import Wanted
from devtools.venv import Note, read_note
from devtools.workspace import DISTRIBUTIONS, CommandError

DEMO = {
    "samebytes",
    "samebytes-demo",
    "samebytes-ffmpeg",
    "samebytes-mappers",
    "samebytes-opencv",
    "samebytes-openvino",
}
FOLDERS = {str(d.path): d.name for d in DISTRIBUTIONS}


class Recorder:
    """Stands for pip: it keeps the words of each run, and fails where a test says so."""

    def __init__(self) -> None:
        self.runs: list[list[str]] = []
        self.made: list[Path] = []
        self.fails: Callable[[list[str]], bool] = lambda _: False
        self.system_prepared = 0

    def install(self, words: list[str | Path]) -> float:
        self.runs.append([str(word) for word in words])
        if self.fails(self.runs[-1]):
            raise CommandError("no compiler")
        return 1e6

    def make(self, folder: Path) -> None:
        self.made.append(folder)
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        (folder / "bin" / "python").touch()

    def prepare_system(self) -> None:
        self.system_prepared += 1

    @property
    def editables(self) -> list[str]:
        return [FOLDERS[word] for words in self.runs for word in words if word in FOLDERS]

    def runs_with(self, name: str) -> list[list[str]]:
        return [words for words in self.runs if any(word.startswith(name) for word in words)]

    def forget(self) -> None:
        self.runs.clear()
        self.made.clear()


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """A .venv in its own folder, on a machine that can build everything."""
    recorder = Recorder()
    folder = tmp_path / ".venv"
    for module in (environment, venv):
        monkeypatch.setattr(module, "VENV", folder)
    monkeypatch.setattr(venv, "PYTHON", folder / "bin" / "python")
    monkeypatch.setattr(environment, "create_venv", recorder.make)
    monkeypatch.setattr(venv, "_NOTE", folder / "note.json")
    monkeypatch.setattr(environment, "prepare_system", recorder.prepare_system)
    monkeypatch.setattr(pip, "install", recorder.install)
    monkeypatch.setattr(pip, "LOG", tmp_path / "set-up.log")
    monkeypatch.setattr(parts, "_COMPILES_OTHERS", {"samebytes-gstreamer": (here(tmp_path),)})
    return recorder


def noted() -> Note:
    """The note, which is there."""
    note = read_note()
    assert note is not None
    return note


def here(folder: Path) -> Wanted:
    """A requirement that a machine meets."""
    return Wanted(str(folder), "here", "tests")


def test_the_demo_gets_what_it_needs_from_wheels_and_no_more(recorder: Recorder) -> None:
    prepare_demo()
    others, ours = recorder.runs
    assert others[0] == "--only-binary=:all:"
    assert not [
        word for word in others if word.startswith(("PyGObject", "pytest", "mypy", "dpctl"))
    ]
    assert set(recorder.editables) == DEMO
    assert ours[:2] == ["--no-build-isolation", "--no-deps"]
    assert recorder.system_prepared == 0


def test_what_others_must_build_is_built_in_isolation(recorder: Recorder) -> None:
    prepare()
    (building,) = [
        words for words in recorder.runs if any(w.startswith("PyGObject") for w in words)
    ]
    assert not any(word.startswith("--") for word in building)
    assert set(recorder.editables) == set(FOLDERS.values())
    assert recorder.system_prepared == 1


def test_nothing_is_done_twice(recorder: Recorder) -> None:
    for function in (prepare_demo, prepare):
        function()
        recorder.forget()
        function()
        assert recorder.runs == []
        assert recorder.made == []


def test_from_the_demo_to_the_tests_things_are_added(recorder: Recorder) -> None:
    prepare_demo()
    recorder.forget()
    prepare()
    assert recorder.made == []
    assert set(recorder.editables) == set(FOLDERS.values()) - DEMO
    recorder.forget()
    prepare_demo()
    assert recorder.runs == []


@pytest.mark.parametrize("which", ["contrib/softdevices", "dpctl"], ids=["ours", "another's"])
def test_what_fails_does_not_take_the_others_down(
    recorder: Recorder, capsys: pytest.CaptureFixture[str], which: str
) -> None:
    failing = {"contrib/softdevices": "samebytes-softdevices", "dpctl": "samebytes-sycl"}[which]
    recorder.fails = lambda words: any(which in word for word in words)
    prepare()
    assert why_left_out(failing) == "no compiler"
    assert f"{failing} is left out: no compiler" in capsys.readouterr().out
    assert noted().distributions.keys() == set(FOLDERS.values()) - {failing}
    assert [(r.name, r.ok, r.ran) for r in left_out(strict=False)] == [(failing, True, False)]
    assert [(r.name, r.ok) for r in left_out(strict=True)] == [(failing, False)]
    # It is tried again, and alone, until it can be had.
    recorder.forget()
    recorder.fails = lambda _: False
    prepare()
    assert recorder.editables == [failing]
    assert why_left_out(failing) is None
    assert left_out(strict=True) == []


@pytest.mark.parametrize("which", ["openvino", "backends/openvino"])
def test_a_demo_that_lacks_something_has_failed(
    recorder: Recorder, capsys: pytest.CaptureFixture[str], which: str
) -> None:
    recorder.fails = lambda words: any(which in word for word in words)
    with pytest.raises(CommandError, match=r"samebytes-openvino cannot be installed: no compiler"):
        prepare_demo()
    assert "so it is run for each part" in capsys.readouterr().out
    recorder.forget()
    recorder.fails = lambda _: False
    prepare_demo()
    assert recorder.made == []
    assert "samebytes-openvino" in recorder.editables


def test_without_its_headers_nothing_is_built(
    recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = tmp_path / "header.pc"
    wanted = Wanted(str(header), "libheader-dev", "tests")
    monkeypatch.setattr(parts, "_COMPILES_OTHERS", {"samebytes-gstreamer": (wanted,)})
    prepare()
    reason = why_left_out("samebytes-gstreamer")
    assert reason is not None
    assert str(header) in reason
    assert "--no-install-recommends libheader-dev" in reason
    assert recorder.runs_with("PyGObject") == []
    recorder.forget()
    prepare()
    assert recorder.runs == []
    header.touch()
    prepare()
    assert recorder.editables == ["samebytes-gstreamer"]
    assert why_left_out("samebytes-gstreamer") is None


def test_new_headers_are_a_reason_to_compile_again(
    recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = tmp_path / "header.h"
    wanted = Wanted(str(header), "libheader-dev", "tests")
    monkeypatch.setattr(parts, "_COMPILES_ITSELF", {"samebytes-softdevices": (wanted,)})
    prepare()
    recorder.forget()
    header.touch()
    prepare()
    assert recorder.editables == ["samebytes-softdevices"]


def test_what_was_built_stays_without_its_headers(recorder: Recorder, tmp_path: Path) -> None:
    header = tmp_path / "header.pc"
    header.touch()
    with pytest.MonkeyPatch.context() as patch:
        wanted = (Wanted(str(header), "libheader-dev", "tests"),)
        patch.setattr(parts, "_COMPILES_OTHERS", {"samebytes-gstreamer": wanted})
        prepare()
        header.unlink()
        recorder.forget()
        prepare()
    assert recorder.runs == []
    assert why_left_out("samebytes-gstreamer") is None


def test_torch_is_asked_for_until_a_build_without_cuda_is_there(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = ["it would bring a GPU build", None]
    monkeypatch.setattr(pip, "why_no_torch", lambda _: answers.pop(0))
    prepare_tests()
    assert why_left_out("torch") == "it would bring a GPU build"
    assert left_out(strict=True) == []
    recorder.forget()
    prepare_tests()
    assert len(recorder.runs) == len(recorder.runs_with("torch")) == 1
    assert why_left_out("torch") is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_was_interrupted_is_made_again(recorder: Recorder, error: type[BaseException]) -> None:
    def interrupted(_: list[str]) -> bool:
        raise error

    recorder.fails = interrupted
    with pytest.raises(error):
        prepare_demo()
    recorder.fails = lambda _: False
    recorder.forget()
    prepare_demo()
    assert len(recorder.made) == 1
    assert set(recorder.editables) == DEMO


@pytest.mark.parametrize("changed", ["python", "folder"])
def test_a_venv_of_another_python_or_place_is_made_again(recorder: Recorder, changed: str) -> None:
    prepare_demo()
    note = json.loads(venv._NOTE.read_text())
    venv._NOTE.write_text(json.dumps(note | {changed: "elsewhere"}))
    recorder.forget()
    prepare_demo()
    assert len(recorder.made) == 1
    assert set(recorder.editables) == DEMO


def test_a_note_of_an_older_kind_is_not_a_note(recorder: Recorder) -> None:
    recorder.make(venv.VENV)
    venv._NOTE.write_text('{"key": "0a2c", "python": "3.11.2"}')
    assert read_note() is None
    prepare_demo()
    assert len(recorder.made) == 2


def test_a_requirement_that_changes_is_asked_for(recorder: Recorder) -> None:
    prepare_demo()
    note = noted()
    note.requirements.remove("pluggy>=1.5")
    note.requirements.append("pluggy<1")
    note.write(unfinished=False)
    recorder.forget()
    prepare_demo()
    assert "pluggy>=1.5" in recorder.runs[0]
    # What is not asked for any more must be asked for when it is again.
    assert "pluggy<1" not in noted().requirements


def test_what_it_took_is_said(recorder: Recorder, capsys: pytest.CaptureFixture[str]) -> None:
    prepare_demo()
    first, *_, last = capsys.readouterr().out.splitlines()
    assert "200 MB" in first
    assert last == "set-up took 0 s, 2 MB were downloaded"
    assert len(recorder.runs) == 2
