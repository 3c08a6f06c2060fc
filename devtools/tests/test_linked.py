# SPDX-License-Identifier: Apache-2.0
"""A venv with links to what wheels require: no more, no less, and it works."""

import subprocess
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from devtools.linked import NotThereError, main, required
from devtools.venv import create_venv


def make_wheel(folder: Path, name: str, *requirements: str) -> str:
    """A wheel with metadata alone."""
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", "Provides-Extra: more"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requirements]
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}-1.0.dist-info/METADATA", "\n".join(metadata) + "\n")
    return str(path)


def names(*wheels: str) -> set[str]:
    """What is found for wheels, by name."""
    return {package.name.lower() for package in required(wheels)}


def test_what_is_required_in_turn_is_found_and_nothing_else(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "ours", "rich>=13")
    assert names(wheel) == {"rich", "markdown-it-py", "mdurl", "pygments"}


def test_extras_and_markers_are_heeded(tmp_path: Path) -> None:
    wheel = make_wheel(
        tmp_path, "ours", 'mdurl; extra == "more"', 'rich; python_version < "3"', "packaging"
    )
    assert names(wheel) == {"packaging"}
    assert names(f"{wheel}[more]") == {"packaging", "mdurl"}


def test_wheels_serve_each_other(tmp_path: Path) -> None:
    first = make_wheel(tmp_path, "first", "second-one==1.0", "mdurl")
    second = make_wheel(tmp_path, "second_one", "packaging")
    assert names(first, second) == {"mdurl", "packaging"}
    with pytest.raises(NotThereError, match="second-one is required"):
        required([first])


def test_another_version_will_not_do(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "ours", f"mdurl!={version('mdurl')}")
    with pytest.raises(NotThereError, match="mdurl"):
        required([wheel])
    assert main(str(tmp_path / "no venv"), wheel) == 1


def test_it_works_there_and_another_package_is_not_there(tmp_path: Path) -> None:
    venv, wheel = tmp_path / "venv", make_wheel(tmp_path, "ours", "numpy", "pytest")
    create_venv(venv, with_pip=False)
    assert main(str(venv), wheel) == 0
    program = "import numpy, pytest; print(numpy.linalg.__file__)"
    done = subprocess.run(
        [venv / "bin" / "python", "-I", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(str(venv))
    missing = subprocess.run([venv / "bin" / "python", "-I", "-c", "import rich"], check=False)
    assert missing.returncode == 1
    script = subprocess.run([venv / "bin" / "pytest", "--version"], check=False)
    assert script.returncode == 0
    assert str(venv) in (venv / "bin" / "pytest").read_text()
