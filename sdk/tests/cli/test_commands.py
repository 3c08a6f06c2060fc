# SPDX-License-Identifier: Apache-2.0
"""`samebytes list`, `doctor` and `route`: what they print, and their JSON."""

from __future__ import annotations

import json
import platform
import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.__main__ import main

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

Capture = pytest.CaptureFixture[str]


def output(capsys: Capture, *arguments: str, status: int = 0) -> tuple[str, str]:
    """Run the command; what it printed on stdout and on stderr."""
    assert main(arguments) == status
    captured = capsys.readouterr()
    return captured.out, captured.err


def as_json(capsys: Capture, *arguments: str, status: int = 0) -> Any:
    return json.loads(output(capsys, *arguments, "--json", status=status)[0])


@pytest.mark.usefixtures("alpha")
def test_list(capsys: Capture) -> None:
    out, _ = output(capsys, "list")
    rows = {line.split()[0]: line for line in out.split("\n\n")[0].splitlines()}
    assert rows["PLUGIN"].split() == ["PLUGIN", "VERSION", "STATE", "MEMORY", "TYPES", "SUMMARY"]
    assert rows["alpha"].split() == ["alpha", "1.5", "ready", "alpha,", "many", "made", "[up]"]
    assert rows["broken"].split() == ["broken", "1.5", "set", "aside"]
    assert rows["cpu"].index("CPU memory") == rows["PLUGIN"].index("SUMMARY")
    assert "cpu    alpha  tensor  r       alias     1      alpha   by hand\n" in out
    assert "set aside: plugin 'broken': importing broken_plugin raised RuntimeError: at home" in out
    assert "not in use: alpha -> many of plugin 'alpha': it needs plugin 'absent'" in out
    assert "not in use: alpha -> dma of plugin 'alpha': no installed plugin declares 'dma'" in out
    assert "alpha  dma " not in out


@pytest.mark.usefixtures("alpha")
def test_list_json(capsys: Capture) -> None:
    plugins = {p["name"]: p for p in as_json(capsys, "list")["plugins"]}
    alpha = plugins["alpha"]
    assert {k: v for k, v in alpha.items() if k != "edges"} == {
        "name": "alpha",
        "distribution": "alpha-dist",
        "version": "1.5",
        "summary": "made [up]",
        "state": "ready",
        "error": "",
        "missing": {},
        "warnings": [],
        "memory_types": ["alpha", "many"],
    }
    assert alpha["edges"][0] == {
        "source": "cpu",
        "target": "alpha",
        "level": "tensor",
        "access": ["r"],
        "transfer": "alias",
        "cost": 1.0,
        "summary": "by hand",
        "unmet": None,
    }
    unmet = [edge["unmet"] for edge in alpha["edges"]]
    hint = unmet.pop(3)
    assert unmet == [
        None,
        None,
        "it needs plugin 'absent', which is not installed",
        "no installed plugin declares 'nobodys'",
    ]
    assert re.fullmatch("no installed plugin declares 'dma': pip install .*dma.*", hint)
    assert plugins["broken"]["state"] == "set aside"
    assert "at home" in plugins["broken"]["error"]
    assert set(plugins["broken"]) == set(alpha)


def test_list_shows_what_strict_would_refuse(
    alpha: Site, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("SAMEBYTES_STRICT", "1")
    assert alpha.path.is_dir()
    sb.refresh()
    assert "set aside: plugin 'broken'" in output(capsys, "list")[0]
    assert "at home" in output(capsys, "route", "cpu", "cpu", status=1)[1]


@pytest.mark.usefixtures("alpha")
def test_doctor(capsys: Capture) -> None:
    out, _ = output(capsys, "doctor", status=1)
    head = f"samebytes {sb.__version__}, python {platform.python_version()}, numpy {np.__version__}"
    assert out.startswith(head)
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line}
    assert rows["cpu"][2:5] == ["yes", "yes", "yes"]
    assert rows["alpha"][1:] == ["1.5", "yes", "yes", "no", "no", "device"]
    assert rows["broken"][2:5] == ["yes", "no", "no"]
    assert "alpha: looked: everywhere\n" in out
    assert "alpha: to do: pip install [green]made-up[cli]\n" in out


@pytest.mark.usefixtures("alpha")
def test_doctor_of_some(capsys: Capture) -> None:
    out, _ = output(capsys, "doctor", "cpu")
    assert "alpha" not in out
    output(capsys, "doctor", "cpu", "alpha", status=1)


@pytest.mark.usefixtures("alpha")
@pytest.mark.parametrize("terminal", [True, False])
def test_doctor_shows_what_it_waits_for(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    """On a terminal alone, and nothing is left of it there."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    _, said = output(capsys, "doctor", "alpha", status=1)
    assert said == ("\r\x1b[Kprobing alpha ...\r\x1b[K" if terminal else "")


def test_doctor_does_not_mind_what_is_disabled(
    alpha: Site, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delenv("SAMEBYTES_PLUGINS")
    others = [p.name for p in sb.installed_plugins() if p.name != "cpu"]
    monkeypatch.setenv("SAMEBYTES_DISABLE", ",".join((*others, "alpha", "broken")))
    assert alpha.path.is_dir()
    sb.refresh()
    out, _ = output(capsys, "doctor")
    assert "disabled by SAMEBYTES_PLUGINS or SAMEBYTES_DISABLE" in out
    output(capsys, "doctor", "alpha", status=1)


def test_doctor_of_a_plugin_that_was_chosen_and_is_not_there(
    alpha: Site, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "nobody")
    assert alpha.path.is_dir()
    sb.refresh()
    (found,) = as_json(capsys, "doctor", "nobody", status=1)["plugins"]
    assert (found["installed"], found["importable"], found["usable"]) == (False, False, False)


@pytest.mark.usefixtures("alpha")
def test_doctor_json(capsys: Capture) -> None:
    report = as_json(capsys, "doctor", "alpha", status=1)
    assert set(report) == {"samebytes", "python", "numpy", "platform", "plugins"}
    assert report["plugins"] == [
        {
            "name": "alpha",
            "distribution": "alpha-dist",
            "version": "1.5",
            "installed": True,
            "importable": True,
            "usable": False,
            "reason": "no device",
            "hint": "pip install [green]made-up[cli]",
            "details": {"looked": "everywhere"},
        }
    ]


@pytest.mark.usefixtures("alpha")
@pytest.mark.parametrize(
    "arguments", [("alhpa",), ("--timeout", "soon"), ("--timeout", "-1"), ("--timeout", "nan")]
)
def test_doctor_with_arguments_that_make_no_sense(
    capsys: Capture, arguments: tuple[str, ...]
) -> None:
    out, err = output(capsys, "doctor", *arguments, status=2)
    assert out == ""
    assert "did you mean 'alpha'" in err or "is not a number of seconds" in err


@pytest.mark.usefixtures("alpha")
def test_route(capsys: Capture) -> None:
    out, err = output(capsys, "route", "cpu", "alpha")
    assert out == f"{sb.route('cpu', 'alpha').explain()}\n"
    assert "1. cpu -> alpha  ALIAS" in out
    assert err == ""


@pytest.mark.usefixtures("alpha")
def test_route_json(capsys: Capture) -> None:
    answer = as_json(
        capsys, "route", "alpha", "cpu", "--copy", "--access", "w", "--level", "tensor"
    )
    assert answer["error"] is None
    assert answer["route"] == {
        "source": "alpha",
        "target": "cpu",
        "level": "tensor",
        "access": "w",
        "cost": 10000.0,
        "copies": True,
        "depends_on": [],
        "hops": [
            {
                "source": "alpha",
                "target": "cpu",
                "transfer": "copy",
                "cost": 10000.0,
                "summary": "by hand",
            }
        ],
        "refused": [],
    }


@pytest.mark.usefixtures("alpha")
@pytest.mark.parametrize(
    ("arguments", "kind", "expected"),
    [
        (("cpu", "alpha", "--access", "w"), "NoRouteError", 'it serves access r, not "w"'),
        (("cpu", "alpha", "--format", "I420"), "NoRouteError", "it takes NV12, not I420"),
        (("alpha", "cpu"), "CopyRequiredError", "pass copy=True"),
        (("alpha", "many:0"), "NoRouteError", "it needs plugin 'absent'"),
    ],
)
def test_no_route(capsys: Capture, arguments: tuple[str, ...], kind: str, expected: str) -> None:
    out, err = output(capsys, "route", *arguments, status=1)
    assert out == ""
    assert err.startswith("samebytes: ")
    assert expected in err
    answer = as_json(capsys, "route", *arguments, status=1)
    assert answer["route"] is None
    assert answer["error"]["type"] == kind
    assert expected in answer["error"]["message"]
    assert isinstance(answer["error"]["reasons"], list)


@pytest.mark.usefixtures("alpha")
def test_format_means_frames(capsys: Capture) -> None:
    assert "(frames" in output(capsys, "route", "cpu", "alpha", "--format", "nv12")[0]
    out, _ = output(capsys, "route", "cpu", "alpha", "--format", "I420", "--level", "tensor")
    assert "(tensors" in out


@pytest.mark.usefixtures("alpha")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("cpu", "alhpa"), "unknown memory type 'alhpa'; did you mean 'alpha'"),
        (("cpu", "alpha", "--format", "NV21x"), "unknown image format"),
        (("cpu", "many"), "say one of many:0, many:1"),
        (("cpu",), "the following arguments are required: DST"),
        (("cpu", "alpha", "--access", "x"), "invalid choice: 'x'"),
    ],
)
def test_route_with_arguments_that_make_no_sense(
    capsys: Capture, arguments: tuple[str, ...], expected: str
) -> None:
    out, err = output(capsys, "route", *arguments, status=2)
    assert out == ""
    assert expected in err
    assert "Traceback" not in err


@pytest.mark.usefixtures("alpha")
@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (
            ("cpu", "alhpa"), 2,
            {"type": "UnknownNameError", "kind": "memory type", "name": "alhpa",
             "nearest": ["alpha"]},
        ),
        (("torch", "cpu"), 2, {"name": "torch", "nearest": ["cpu"]}),
        (("cpu", "alpha", "--format", "NV21x"), 2, {"kind": "image format", "name": "NV21x"}),
        (
            ("cpu", "many"), 2,
            {"type": "AmbiguousTargetError", "choices": ["many:0", "many:1"]},
        ),
        (("alpha", "cpu"), 1, {"type": "CopyRequiredError", "edge": "alpha -> cpu"}),
        (("alpha", "many:0"), 1, {"type": "NoRouteError", "edge": None, "nearest": None}),
    ],
)  # fmt: skip
def test_every_error_of_route_is_json(
    capsys: Capture, arguments: tuple[str, ...], status: int, error: dict[str, object]
) -> None:
    answer = as_json(capsys, "route", *arguments, status=status)
    assert answer["route"] is None
    assert {key: answer["error"][key] for key in error} == error
    assert answer["error"]["message"]


def test_a_broken_plugin_of_a_route_is_json(alpha: Site, capsys: Capture) -> None:
    alpha.module("alpha_classes", "raise RuntimeError('at home')\n")
    answer = as_json(capsys, "route", "cpu", "alpha", status=1)
    assert answer["error"]["type"] == "PluginLoadError"
    assert answer["error"]["plugin"] == "alpha"
    assert "at home" in answer["error"]["message"]


def test_list_says_what_is_not_installed(alpha: Site, capsys: Capture) -> None:
    text = (alpha.path / "alpha_plugin.py").read_text()
    packages = '{"json": "never", "made_up_package.part": "pip install made-up[all]"}'
    alpha.module("alpha_plugin", text.replace("probe=", f"packages={packages}, probe="))
    out, _ = output(capsys, "list")
    rows = {line.split()[0]: line.split() for line in out.split("\n\n")[0].splitlines()}
    assert rows["alpha"][2] == "incomplete"
    assert (
        "incomplete: plugin 'alpha': the package 'made_up_package.part' is not installed: "
        "pip install made-up[all]\n"
    ) in out
    (alpha_,) = [p for p in as_json(capsys, "list")["plugins"] if p["name"] == "alpha"]
    assert alpha_["state"] == "incomplete"
    assert alpha_["missing"] == {"made_up_package.part": "pip install made-up[all]"}


def test_list_warns_of_native_types_that_there_are_not(alpha: Site, capsys: Capture) -> None:
    alpha.module("made_up", "class Buffer: pass\n")
    text = (alpha.path / "alpha_plugin.py").read_text()
    spec = 'NativeSpec(native="made_up.buffer", wraps="made_up:Wraps", level="tensor")'
    hook = f"\n@hookimpl\ndef samebytes_tensors():\n    return [{spec}]\n"
    alpha.module("alpha_plugin", text + hook)
    out, _ = output(capsys, "list")
    assert "warning: plugin 'alpha': native type 'made_up.buffer': there is no such type" in out
    plugins = {p["name"]: p for p in as_json(capsys, "list")["plugins"]}
    assert "it has Buffer" in plugins["alpha"]["warnings"][0]


def test_tables_with_rich(alpha: Site, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    pytest.importorskip("rich", reason='needs rich: pip install "samebytes[cli]"')
    assert alpha.path.is_dir()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    out, _ = output(capsys, "list")
    assert "\N{BOX DRAWINGS LIGHT HORIZONTAL}" in out
    assert "made [up]" in out  # not taken for a style


def test_tables_without_rich(alpha: Site, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert alpha.path.is_dir()
    plain, _ = output(capsys, "list")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setitem(sys.modules, "rich.table", None)
    assert output(capsys, "list")[0] == plain
