# SPDX-License-Identifier: Apache-2.0
"""The tests on a newer Python, for packages that the oldest supported Python lacks.

PyAV 19, with FFmpeg 9, needs Python 3.12 or later. If dev.py runs on an older one, `.venv` has an
older PyAV, and the newest would be tested nowhere.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devtools import pip
from devtools.parts import development_parts, group_requirements
from devtools.pytest_run import few, on, pytest_run
from devtools.results import Result, not_run
from devtools.workspace import CORE, DISTRIBUTIONS, CommandError, Distribution, must

NEWEST_PYAV_NEEDS = (3, 12)
# Versions for which all packages have wheels; the highest one found is used.
SERIES = ("3.14", "3.13", "3.12")

# The users of PyAV's frames: its backend, the mappers from it, and the demo, which decodes.
_NAMES = ("samebytes-ffmpeg", "samebytes-mappers", "samebytes-demo")
_TESTED = [d for d in DISTRIBUTIONS if d.name in _NAMES]


def newer(*, strict: bool, may_miss: Sequence[str], quick: bool) -> Result:
    """The tests of the users of PyAV's frames, with the newest PyAV, on a newer Python.

    A `quick` run takes one parameter of each test. It is `not run` if dev.py's own Python can have
    the newest PyAV, or no newer Python is found.
    """
    if sys.version_info[:2] >= NEWEST_PYAV_NEEDS:
        return not_run("newer", "the Python of .venv has the newest PyAV already")
    found = find_python()
    if found is None:
        names = ", ".join(f"python{series}" for series in SERIES)
        why = f"no {names} with venv is on PATH or in pyenv, so the newest PyAV was not tested"
        return not_run("newer", why)
    with tempfile.TemporaryDirectory(prefix="samebytes-newer-") as folder:
        python = Path(folder, "venv", "bin", "python")
        chosen = with_company()
        try:
            _fill(found, python, chosen)
        except CommandError as error:
            return Result("newer", False, str(error))
        devices = sorted({device for d in _TESTED for device in d.devices})
        return pytest_run(
            f"newer ({versions(python)})",
            python,
            [
                *on(devices, strict=strict),
                *("-p", "no:cacheprovider"),
                *(few() if quick else ()),
                *(f"{d.folder}/tests" for d in _TESTED),
            ],
            strict=strict,
            may_miss=[*may_miss, *missing_modules(chosen)],
        )


def find_python() -> Path | None:
    """A Python of the highest of SERIES, on PATH or among pyenv's; None if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for version in SERIES:
        of_pyenv = sorted(map(str, pyenv.glob(f"versions/{version}.*/bin")), reverse=True)
        for folder in (*os.get_exec_path(), *of_pyenv):
            if _makes_venvs(python := Path(folder, f"python{version}")):
                return python
    return None


def with_company() -> list[Distribution]:
    """The tested distributions and those that they are tested with, in the workspace's order."""
    names = {CORE.name, *_NAMES, *(name for d in _TESTED for name in d.alone_with)}
    return [d for d in DISTRIBUTIONS if d.name in names]


def missing_modules(chosen: Sequence[Distribution]) -> list[str]:
    """The modules of the distributions that are not installed, and of array libraries."""
    others = (module for d in DISTRIBUTIONS if d not in chosen for module in d.modules)
    return ["jax", "ml_dtypes", "torch", *others]


def _fill(found: Path, python: Path, chosen: Sequence[Distribution]) -> None:
    """Make a venv by the Python `found`, with the distributions and what they require.

    Build isolation for each of them would take longer than everything else.
    """
    names = {d.name for d in chosen}
    parts = [part for part in development_parts() if part.name in names]
    requirements = {r for part in parts for r in part.requirements}
    install = [*pip.into(python), "--quiet"]
    must([found, "-m", "venv", "--without-pip", python.parent.parent])
    must([*install, "--only-binary=:all:", *group_requirements("build"), *sorted(requirements)])
    must([*install, "--no-build-isolation", "--no-deps", *(d.path for d in chosen)])


def versions(python: Path) -> str:
    """The versions with which the tests ran, for the table."""
    program = "import av, sys; print(*sys.version_info[:2], av.__version__)"
    answer = subprocess.run(
        [python, "-c", program], capture_output=True, text=True, check=False
    ).stdout.split()
    return "Python {}.{}, PyAV {}".format(*answer) if len(answer) == 3 else "PyAV does not import"


def _makes_venvs(python: Path) -> bool:
    """True if `python` runs and has ensurepip: a shim of pyenv may not, nor Debian's Python."""
    try:
        return not subprocess.run(
            [python, "-c", "import ensurepip, venv"], capture_output=True, check=False
        ).returncode
    except OSError:
        return False
