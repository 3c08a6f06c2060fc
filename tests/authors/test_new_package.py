# SPDX-License-Identifier: Apache-2.0
"""What `samebytes new-backend` writes is clean code, and works in its own environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "sdk"


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command that must succeed; what it printed."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env={**os.environ, **environment}, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}:\n{done.stdout}"
    return done.stdout


def written(name: str, into: Path) -> Path:
    """The package of that name."""
    run(sys.executable, "-m", "samebytes", "new-backend", name, "--into", into, cwd=ROOT)
    (folder,) = into.glob("samebytes-*")
    return folder


# The shortest name and the longest one: lines are wrapped by their length.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["q", "shared_pages", "arena_of_shared_pages_xy"])
def test_it_is_clean(name: str, tmp_path: Path) -> None:
    folder = written(name, tmp_path)
    run(sys.executable, "-m", "ruff", "check", "--no-cache", cwd=folder)
    run(sys.executable, "-m", "ruff", "format", "--no-cache", "--check", cwd=folder)
    run(
        sys.executable, "-m", "mypy", f"--cache-dir={tmp_path / 'cache'}", cwd=folder,
        MYPYPATH=f"src:{CORE / 'src'}",
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.wheel
def test_in_an_environment_of_its_own(tmp_path: Path) -> None:
    """As its author works: wheels of it and of the core, a fresh venv, its tests, the commands."""
    folder = written("shared_pages", tmp_path)
    wheels, place, elsewhere = tmp_path / "wheels", tmp_path / "venv", tmp_path / "elsewhere"
    for source in (CORE, folder):
        run(
            sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheels, source,
            cwd=tmp_path,
        )  # fmt: skip
    venv.create(place, with_pip=True)
    python, command = place / "bin" / "python", place / "bin" / "samebytes"
    (core,) = wheels.glob("samebytes-*.whl")
    (own,) = wheels.glob("samebytes_shared_pages-*.whl")
    clean = {"PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}
    pip = (python, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "install", f"{core}[testing]", own, cwd=tmp_path, **clean)
    shutil.copytree(folder / "tests", elsewhere / "tests")
    shutil.copy(folder / "pyproject.toml", elsewhere)
    assert " passed" in run(python, "-m", "pytest", "-q", cwd=elsewhere, **clean)
    assert " 0 failed" in run(command, "check-plugin", "shared_pages", cwd=elsewhere, **clean)
    assert "shared_pages  0.1.0    ready" in run(command, "list", cwd=elsewhere, **clean)
    assert "pages of" in run(command, "doctor", "shared_pages", cwd=elsewhere, **clean)
    route = run(command, "route", "cpu", "shared_pages", cwd=elsewhere, **clean)
    assert "1. cpu -> shared_pages  ALIAS" in route
    run(*pip, "uninstall", "--yes", "samebytes-shared-pages", cwd=elsewhere, **clean)
    assert "shared_pages" not in run(command, "list", cwd=elsewhere, **clean)
    run(command, "new-backend", "other_pages", cwd=elsewhere, **clean)  # the wheel has templates
    assert (elsewhere / "samebytes-other-pages" / "README.md").exists()
