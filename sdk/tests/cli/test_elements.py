# SPDX-License-Identifier: Apache-2.0
"""`samebytes elements`, and the completion of command lines by a shell."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import samebytes.elements as el
from samebytes.__main__ import main
from samebytes.errors import SamebytesError

Capture = pytest.CaptureFixture[str]


def shown(capsys: Capture, *words: str) -> str:
    assert main(["elements", *words]) == 0
    return capsys.readouterr().out


def as_json(capsys: Capture, *words: str) -> Any:
    return json.loads(shown(capsys, *words, "--json"))


def test_all_that_are_installed_and_none_is_imported(capsys: Capture) -> None:
    lines = shown(capsys).splitlines()
    assert lines[0].split() == ["ELEMENT", "WHAT", "IT", "DOES"]
    assert any(line.startswith("json.sink ") for line in lines)
    names = {one["name"] for one in as_json(capsys)["elements"]}
    assert names == set(el.available())


def test_one_with_its_parameters(capsys: Capture) -> None:
    text = shown(capsys, "convert")
    assert text.startswith("convert: a Transform\n\nConverts pictures")
    assert "\ntakes: image\ngives: image\n" in text
    assert "\nformat: a str; must be given\n    of the new frames" in text
    assert "\nwidth: an int or None, 1 to 32768; by default None\n" in text
    assert "\nmethod: 'linear' or 'area' or 'nearest' or 'cubic'; by default 'linear'\n" in text


def test_a_class_is_named_where_programs_find_it(capsys: Capture) -> None:
    for name in el.available():
        try:
            cls = el.element_class(name)
        except SamebytesError:  # its framework is not installed
            continue
        package, _, public = (as_json(capsys, name)["class"] or "").rpartition(".")
        assert not package or getattr(sys.modules[package], public) is cls
    assert as_json(capsys, "json.sink")["class"] is None


def test_one_as_json(capsys: Capture) -> None:
    found = as_json(capsys, "convert")
    parameters = {one.pop("name"): one for one in found["parameters"]}
    assert list(parameters) == list(el.element_class("convert").declared_parameters())
    assert parameters["format"]["required"] is True
    assert parameters["pool"] == {
        "type": "an int, >= 1", "required": False, "default": "32", "minimum": 1, "maximum": None,
        "choices": None, "description": "how many new frames of a layout there are at most",
    }  # fmt: skip
    assert parameters["method"]["choices"] == ["'linear'", "'area'", "'nearest'", "'cubic'"]
    assert found["kind"] == "Transform"
    assert found["takes"] == ["image"]


def test_a_sink_gives_nothing(capsys: Capture) -> None:
    assert as_json(capsys, "json.sink")["gives"] is None
    assert "gives:" not in shown(capsys, "json.sink")


@pytest.mark.together
def test_every_one_that_is_installed_can_be_shown(capsys: Capture) -> None:
    for name in el.available():
        found = as_json(capsys, name)
        assert found["name"] == name
        assert found["doc"]
        assert all(one["description"] for one in found["parameters"]), name


def test_a_misspelt_one(capsys: Capture) -> None:
    assert main(["elements", "json.snk"]) == 2
    assert "did you mean 'json.sink'" in capsys.readouterr().err


def test_bash_completes(capsys: Capture, tmp_path: Path) -> None:
    pytest.importorskip("shtab", reason='missing package shtab: pip install "samebytes[cli]"')
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("missing package bash: apt install bash")
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "samebytes.bash"
    script.write_text(capsys.readouterr().out)
    code = f"""
    source {script}
    complete_it() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _shtab_samebytes
        echo "${{COMPREPLY[@]}}"; }}
    complete_it samebytes elem
    complete_it samebytes run --thr
    complete_it samebytes bench --qu
    complete_it samebytes run {script.parent}/sameb
    """
    done = subprocess.run(
        [bash, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.split() == ["elements", "--threads", "--quick", str(script)]


def test_without_shtab_the_error_says_what_brings_it(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "zsh"]) == 1
    assert "the package shtab is missing: pip install" in capsys.readouterr().err


def test_no_line_is_wider_than_a_terminal(capsys: Capture, monkeypatch: Any) -> None:
    class Wide(el.Sink):
        """Takes frames.

        Raises:
            LayoutError: a frame's matrix is none of those that it knows, and the colour is not a
                gray, which needs none.

            with it:
                as it is
        """

        takes = el.Image("NV12|I420|NV21|YV12|NV16|I422|NV24|I444|GRAY8|BGR|RGB", memory="cpu")

    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(el, "element_class", lambda name: Wide)
    lines = shown(capsys, "wide").splitlines()
    assert max(map(len, lines[1:])) <= 60
    at = lines.index("Raises:")
    assert lines[at + 1] == "    LayoutError: a frame's matrix is none of those that it"
    assert lines[at + 2].startswith("        knows, and")
    assert lines[at + 5 : at + 7] == ["    with it:", "        as it is"]
    takes = [line for line in lines if "|" in line]
    assert len(takes) == 2
    assert takes[0].endswith("|")
