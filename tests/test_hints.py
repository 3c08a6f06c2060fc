# SPDX-License-Identifier: Apache-2.0
"""The command of a hint works in a fresh environment, installed from folders or wheels."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Container
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ASKED = """
import samebytes
try:
    print("there:", samebytes.context("dma"))
except samebytes.errors.SamebytesError as error:
    print(error)
"""


def run(
    *command: str | Path, path: Path | None = None, statuses: Container[int] = frozenset({0})
) -> str:
    """Return what a command prints; its error output is in the failure."""
    before = f"{path}{os.pathsep}" if path else ""
    environment = os.environ | {"PATH": before + os.environ["PATH"]}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600, env=environment,
        cwd="/",
    )  # fmt: skip
    assert done.returncode in statuses, done.stdout + done.stderr
    return done.stdout


def test_each_command_of_the_doctor_installs_what_is_there() -> None:
    """Commands of all plugins for what is missing here, also for what only tests would need."""
    # 1 where something is missing, as a camera mostly is.
    said = run(sys.executable, "-m", "samebytes", "doctor", statuses={0, 1})
    for command in re.findall(r"pip install ([^\n),]*)", said):
        for word in shlex.split(command):
            if "samebytes" in word and "--find-links" not in command:
                assert Path(re.sub(r"\[.*\]$", "", word)).is_dir(), command


def fresh(venv: Path) -> Path:
    """An environment; its Python. Its pip is the one that is here: to install it takes seconds.

    Nor is all of numpy compiled, of which a small part is imported.
    """
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    python, pip = venv / "bin" / "python", venv / "bin" / "pip"
    ours = shlex.join([sys.executable, "-m", "pip", "--python", str(python)])
    pip.write_text(f'#!/bin/sh\ncommand=$1; shift\nexec {ours} "$command" --no-compile "$@"\n')
    pip.chmod(0o755)
    return python


@pytest.mark.slow
@pytest.mark.parametrize("source", ["folders", "wheels"])
def test_what_a_hint_says_works(source: str, tmp_path: Path) -> None:
    python = fresh(tmp_path / "fresh")
    pip = python.with_name("pip")
    core: Path = ROOT / "sdk"
    if source == "wheels":
        parts = [core, ROOT / "backends/dma", ROOT / "mappers"]
        run(
            sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w",
            tmp_path / "dist", *parts,
        )  # fmt: skip
        (core,) = tmp_path.glob("dist/samebytes-[0-9]*.whl")
    run(pip, "install", core)
    said = run(python, "-c", ASKED)
    hint = re.search(r"pip install [^)\n]*", said)
    assert hint, said
    run("sh", "-c", hint[0], path=python.parent)
    assert run(python, "-c", ASKED).startswith("there:")
