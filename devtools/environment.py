# SPDX-License-Identifier: Apache-2.0
"""The development environment in .venv: made when missing, brought up to date when it is not."""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from devtools.system import TO_BUILD_PYGOBJECT, Wanted, apt_command, prepare_system
from devtools.workspace import (
    DISTRIBUTIONS,
    ROOT,
    CommandError,
    Distribution,
    must,
    run,
    source_files,
)

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
PIP_INSTALL = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")

_STATE = VENV / "samebytes-setup.json"
# What pip must build for a distribution: without this it would fail, and all the others with it.
_BUILT_WITH: Mapping[str, tuple[Wanted, ...]] = {"samebytes-gstreamer": TO_BUILD_PYGOBJECT}
_GPU_PACKAGE = re.compile(r"(nvidia|cuda|triton)", re.IGNORECASE)


def prepare() -> None:
    """Make .venv hold every distribution (editable) and the tools of the group `dev`.

    Does nothing when it already does: a hash of what the pyproject.toml files ask for is kept
    there. One that this Python made is brought up to date in place, as a program may be running
    in it; else it is made anew. A distribution that cannot be built here is left out, and the
    reason printed.

    Raises:
        CommandError: pip failed.
    """
    state = _read_state()
    if state.get("key") == _key():
        return
    # First: pip builds packages against what it brings.
    prepare_system()
    if state.get("python") != sys.version or not PYTHON.exists():
        create_venv(VENV)
    _fill(["--group", "dev"])
    editables = []
    for distribution in DISTRIBUTIONS:
        reason = why_left_out(distribution)
        if reason:
            print(f"{distribution.name} is left out: {reason}", flush=True)
        else:
            path = f"{distribution.path}{distribution.requirement_suffix}"
            editables += ["--editable", path]
    # The build backend is in the group `dev`: one copy of it, instead of one for each package.
    _fill(["--no-build-isolation", *editables])
    _write_state({"key": _key(), "python": sys.version})


def why_left_out(distribution: Distribution) -> str | None:
    """Why a distribution cannot be installed here, or None when it can."""
    missing = [w for w in _BUILT_WITH.get(distribution.name, ()) if w.missing]
    if not missing:
        return None
    return f"{missing[0].path} is missing to build what it needs; {apt_command(missing)}"


def _fill(words: list[str]) -> None:
    status = run([PYTHON, *PIP_INSTALL, *words])
    if status:
        raise CommandError(
            f"{VENV} could not be filled: pip ended with status {status}, see its last lines "
            "above. Where a package failed to build, it lacks a header or a program of the system"
        )


def prepare_arrays() -> str | None:
    """Install the array libraries that tests use into .venv; torch only as a CPU build.

    Returns None when torch is there, else the reason why it cannot be. The answer is remembered
    until a pyproject.toml changes.
    """
    state = _read_state()
    if "no_torch" not in state:
        must([PYTHON, *PIP_INSTALL, "--group", "arrays"])
        state["no_torch"] = _why_no_torch()
        if state["no_torch"] is None:
            must([PYTHON, *PIP_INSTALL, "--group", "torch"])
        _write_state(state)
    return state["no_torch"]


def create_venv(folder: Path) -> None:
    """Make a fresh venv with a recent pip, for the Python that runs this.

    Raises:
        CommandError: this Python cannot make one, or pip could not be fetched.
    """
    _require_ensurepip()
    must([sys.executable, "-m", "venv", "--clear", folder])
    # --group came with pip 25.1.
    must([folder / "bin" / "python", *PIP_INSTALL, "--upgrade", "pip>=25.1"])


def _require_ensurepip() -> None:
    """Debian and Ubuntu ship it as a package of its own."""
    if importlib.util.find_spec("ensurepip"):
        return
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    hint = f"this Python cannot make a venv; install it with `apt-get install {package}`"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise CommandError(hint)
    if run(["apt-get", "install", "--yes", package]):
        run(["apt-get", "update"])
        must(["apt-get", "install", "--yes", package])


def _why_no_torch() -> str | None:
    command = [str(PYTHON), *PIP_INSTALL, "--dry-run", "--report", "-", "--group", "torch"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if answer.returncode:
        lines = answer.stderr.strip().splitlines()
        return f"pip finds no build of it here: {lines[-1] if lines else 'it gave no reason'}"
    return gpu_packages(answer.stdout)


def gpu_packages(report: str) -> str | None:
    """Why an installation report of pip names a GPU build, or None when it does not.

    https://pip.pypa.io/en/stable/reference/installation-report/ describes the report.
    """
    names = [item["metadata"]["name"] for item in json.loads(report)["install"]]
    gpu = sorted(name for name in names if _GPU_PACKAGE.match(name))
    if not gpu:
        return None
    return (
        f"pip would bring a GPU build ({len(gpu)} packages such as {gpu[0]}); "
        "point pip at a CPU build (PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS) to have it"
    )


def _key() -> str:
    """Changes with what is installed; settings of tools do not count, C sources do."""
    digest = hashlib.sha256(sys.version.encode())
    for pyproject in [ROOT / "pyproject.toml", *(d.path / "pyproject.toml" for d in DISTRIBUTIONS)]:
        tables = tomllib.loads(pyproject.read_text())
        tables.pop("tool", None)
        digest.update(json.dumps(tables).encode())
    for distribution in DISTRIBUTIONS:
        if why_left_out(distribution):
            digest.update(f"without {distribution.name}".encode())
    for source in source_files(".c", ".h", "hatch_build.py", below=ROOT / "contrib"):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _read_state() -> dict[str, str | None]:
    try:
        state: dict[str, str | None] = json.loads(_STATE.read_text())
    except (OSError, ValueError):
        return {}
    return state


def _write_state(state: dict[str, str | None]) -> None:
    _STATE.write_text(json.dumps(state))
