# SPDX-License-Identifier: Apache-2.0
"""Tests of reading pip's output."""

import json
import os
import shlex
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from devtools import pip
from devtools.pip import install
from devtools.venv import create_venv
from devtools.workspace import CommandError, must


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip's output in a folder of the test's own."""
    monkeypatch.setattr(pip, "LOG", tmp_path / "logs" / "set-up.log")
    return pip.LOG


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts a pip in place that says these lines and ends with this status."""

    def say(*lines: str, status: int = 0) -> None:
        stands_for_it = tmp_path / "pip"
        shown = shlex.join([f"{line}\n" for line in lines])
        stands_for_it.write_text(f"#!/bin/sh\nprintf %b {shown}\nexit {status}\n")
        stands_for_it.chmod(0o755)
        monkeypatch.setattr(pip, "PYTHON", stands_for_it)

    return say


def test_downloads_are_counted_and_large_ones_shown(
    said: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    said(
        "  Downloading numpy-2.4.0-cp313.whl (16.6 MB)",
        "  Downloading https://index/x/rich-15.0.0-py3-none-any.whl.metadata (18 kB)",
        "Downloading torch-2.13.0.whl (1.2 GB)",
        "  Using cached numpy-2.4.0-cp313.whl (16.6 MB)",
    )
    assert install(["x"]) == pytest.approx(16.6e6 + 18e3 + 1.2e9)
    assert capsys.readouterr().out.splitlines() == [
        "  numpy-2.4.0-cp313.whl, 17 MB",
        "  torch-2.13.0.whl, 1200 MB",
    ]


def wheel_of_nothing(folder: Path) -> Path:
    """A wheel that pip installs, with one file of random bytes."""
    path = folder / "nothing-1.0-py3-none-any.whl"
    info = "nothing-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("nothing.bin", os.urandom(5000))
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: nothing\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


def test_into_a_venv_without_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip, "PYTHON", Path(sys.executable))
    wheel = wheel_of_nothing(tmp_path)
    create_venv(tmp_path / "venv", with_pip=False)
    must([*pip.into(tmp_path / "venv" / "bin" / "python"), "--no-index", wheel])
    (site,) = tmp_path.glob("venv/lib/python*/site-packages")
    assert {path.name for path in site.iterdir()} == {"nothing.bin", "nothing-1.0.dist-info"}


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            ["  ERROR: Could not find a version", "ERROR: No matching distribution found for x"],
            "No matching distribution found for x",
        ),
        (
            [
                "  error: subprocess-exited-with-error",
                "      ../meson.build:31:11: ERROR: Dependency",
                "      ERROR: there is no C compiler gcc",
                "error: metadata-generation-failed",
            ],
            "there is no C compiler gcc",
        ),
        (
            [
                "        File 'hatch_build.py', line 149, in build_all",
                "      hatch_build.py.BuildError: libsoftgpu.so was not built: no gcc",
                "      libsoftnpu.so was not built: no gcc",
                "error: metadata-generation-failed",
            ],
            "libsoftgpu.so was not built: no gcc",
        ),
        (["error: metadata-generation-failed", ""], "metadata-generation-failed"),
        (["Killed", ""], "Killed"),
        ([""], "pip gave no reason"),
    ],
)
def test_the_reason(said: Callable[..., None], lines: list[str], reason: str) -> None:
    said(*lines, status=1)
    with pytest.raises(CommandError) as caught:
        install(["x"])
    assert str(caught.value) == reason


def test_a_failure_is_named_and_logged(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pip, "PYTHON", Path(sys.executable))
    monkeypatch.setenv("PIP_USER", "1")  # which no venv can have
    for name in ("first", "second"):
        with pytest.raises(CommandError, match=name):
            install(["--no-index", "--dry-run", tmp_path / name])
    assert str(tmp_path / "first") in log.read_text()
    assert str(tmp_path / "second") in log.read_text()
    assert install(["--no-index", "--dry-run", "pip"]) == 0


@pytest.mark.parametrize("name", ["sympy", "nvidia-cublas-cu12", "triton", "NVIDIA-nccl"])
def test_a_build_of_torch_for_gpus_is_named(said: Callable[..., None], name: str) -> None:
    said(json.dumps({"install": [{"metadata": {"name": n}} for n in ("torch", name)]}))
    reason = pip.why_no_torch(["torch"])
    assert reason is None if name == "sympy" else reason and name in reason
