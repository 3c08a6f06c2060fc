# SPDX-License-Identifier: Apache-2.0
"""What the set-up decides before it installs anything."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

from devtools import environment
from devtools.environment import create_venv, gpu_packages, why_left_out
from devtools.system import Wanted
from devtools.workspace import CORE, CommandError


def report(*names: str) -> str:
    """An installation report of pip, as far as it is read."""
    return json.dumps({"install": [{"metadata": {"name": name}} for name in names]})


def test_a_cpu_build_is_taken() -> None:
    assert gpu_packages(report("torch", "numpy", "sympy")) is None


@pytest.mark.parametrize("name", ["nvidia-cublas-cu12", "triton", "cuda-bindings", "NVIDIA-nccl"])
def test_a_gpu_build_is_named(name: str) -> None:
    reason = gpu_packages(report("torch", name))
    assert reason is not None
    assert name in reason


def test_a_python_that_cannot_make_a_venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CommandError, match=r"apt-get install python3\.\d+-venv"):
        create_venv(tmp_path)


def test_what_cannot_be_built_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = tmp_path / "header.pc"
    wanted = Wanted(str(header), "libheader-dev", "the core")
    monkeypatch.setattr(environment, "_BUILT_WITH", {CORE.name: (wanted,)})
    reason = why_left_out(CORE)
    assert reason is not None
    assert str(header) in reason
    assert "apt-get install libheader-dev" in reason
    before = environment._key()
    header.touch()
    assert why_left_out(CORE) is None
    assert environment._key() != before


def test_pip_that_fails_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "run", lambda _: 1)
    with pytest.raises(CommandError, match="lacks a header or a program of the system"):
        environment._fill(["--group", "dev"])


@pytest.mark.parametrize(
    ("state", "fresh"),
    [({}, True), ({"key": "old"}, True), ({"key": "old", "python": sys.version}, False)],
    ids=["none", "of another Python", "out of date"],
)
def test_a_venv_in_use_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: dict[str, str], *, fresh: bool
) -> None:
    (tmp_path / "state").write_text(json.dumps(state))
    (tmp_path / "python").touch()
    made: list[Path] = []
    monkeypatch.setattr(environment, "_STATE", tmp_path / "state")
    monkeypatch.setattr(environment, "PYTHON", tmp_path / "python")
    monkeypatch.setattr(environment, "create_venv", made.append)
    monkeypatch.setattr(environment, "prepare_system", lambda: None)
    monkeypatch.setattr(environment, "run", lambda _: 0)
    environment.prepare()
    assert bool(made) == fresh
    made.clear()
    environment.prepare()
    assert made == []
