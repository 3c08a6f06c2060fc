# SPDX-License-Identifier: Apache-2.0
"""Packages of `samebytes new-backend` are clean code, and work in environments of their own."""

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


def written(name: str, into: Path, *options: str) -> Path:
    """The package of that name."""
    command = ("new-backend", name, "--into", str(into), *options)
    run(sys.executable, "-m", "samebytes", *command, cwd=ROOT)
    (folder,) = into.glob("samebytes-*")
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for mypy's cache: the core and numpy take mypy longer than the package does."""
    return tmp_path_factory.mktemp("mypy")


# The shortest name and the longest one: lines are wrapped by their length.
@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--element",)], ids=["backend", "element"])
@pytest.mark.parametrize("name", ["q", "shared_pages", "arena_of_shared_pages_xy"])
def test_it_is_clean(name: str, options: tuple[str, ...], cache: Path, tmp_path: Path) -> None:
    folder = written(name, tmp_path, *options)
    run(sys.executable, "-m", "ruff", "check", "--no-cache", cwd=folder)
    run(sys.executable, "-m", "ruff", "format", "--no-cache", "--check", cwd=folder)
    run(
        sys.executable, "-m", "mypy", f"--cache-dir={cache}", cwd=folder,
        MYPYPATH=f"src:{CORE / 'src'}",
    )  # fmt: skip


class Environment:
    """A fresh environment with the core and one package, both from wheels; and its tests."""

    def __init__(self, folder: Path, tmp_path: Path) -> None:
        wheels, place = tmp_path / "wheels", tmp_path / "venv"
        self.elsewhere = tmp_path / "elsewhere"
        for source in (CORE, folder):
            run(
                sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheels,
                source, cwd=tmp_path,
            )  # fmt: skip
        venv.create(place)
        self._python, self._command = place / "bin" / "python", place / "bin" / "samebytes"
        (core,) = wheels.glob("samebytes-*.whl")
        (own,) = wheels.glob("samebytes_*.whl")
        shutil.copytree(folder / "tests", self.elsewhere / "tests")
        shutil.copy(folder / "pyproject.toml", self.elsewhere)
        self.pip("install", "--no-compile", f"{core}[testing]", str(own))

    def python(self, *words: str) -> str:
        """Run this environment's Python."""
        clean = {"PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}
        return run(self._python, *words, cwd=self.elsewhere, **clean)

    def pip(self, *words: str) -> None:
        """Install or uninstall, by the pip that is here: to install it there takes seconds."""
        command = (sys.executable, "-m", "pip", "--python", str(self._python))
        run(
            *command,
            "--quiet",
            "--disable-pip-version-check",
            *words,
            cwd=self.elsewhere,
            PYTHONPATH="",
        )

    def samebytes(self, *words: str) -> str:
        """Run the command."""
        clean = {"PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}
        return run(self._command, *words, cwd=self.elsewhere, **clean)


@pytest.mark.slow
@pytest.mark.wheel
def test_in_an_environment_of_its_own(tmp_path: Path) -> None:
    """As its author works: wheels of it and of the core, a fresh venv, its tests, the commands."""
    there = Environment(written("shared_pages", tmp_path), tmp_path)
    assert " passed" in there.python("-m", "pytest", "-q")
    assert " 0 failed" in there.samebytes("check-plugin", "shared_pages")
    assert "shared_pages  0.1.0    ready" in there.samebytes("list")
    assert "pages of" in there.samebytes("doctor", "shared_pages")
    assert "1. cpu -> shared_pages  ALIAS" in there.samebytes("route", "cpu", "shared_pages")
    there.pip("uninstall", "--yes", "samebytes-shared-pages")
    assert "shared_pages" not in there.samebytes("list")
    there.samebytes("new-backend", "other_pages")  # the wheel has templates
    assert (there.elsewhere / "samebytes-other-pages" / "README.md").exists()


@pytest.mark.slow
@pytest.mark.wheel
def test_an_element_in_an_environment_of_its_own(tmp_path: Path) -> None:
    """The same for an element, which is made by its name."""
    there = Environment(written("blurs", tmp_path, "--element"), tmp_path)
    out = there.python("-m", "pytest", "-q")
    assert " passed" in out
    assert "skipped" not in out
    assert " 0 failed" in there.samebytes("check-plugin", "blurs")
    assert "it needs nothing else" in there.samebytes("doctor", "blurs")
    code = "import samebytes.elements as el; print(el.create('blurs.brighten', by=3))"
    assert "Brighten(by=3)" in there.python("-c", code)
    there.samebytes("new-backend", "--element", "others")  # the wheel has templates
    assert (there.elsewhere / "samebytes-others" / "README.md").exists()
