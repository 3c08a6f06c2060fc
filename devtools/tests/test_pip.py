# SPDX-License-Identifier: Apache-2.0
"""Tests of reading pip's output."""

import os
import sys
import zipfile
from pathlib import Path

import pytest

from devtools import pip
from devtools.pip import download, install, reason_of, taken_from_disk
from devtools.venv import create_venv
from devtools.workspace import must


@pytest.mark.parametrize(
    ("line", "size", "name"),
    [
        ("  Downloading numpy-2.4.0-cp313.whl (16.6 MB)\n", 16.6e6, "numpy-2.4.0-cp313.whl"),
        ("  Downloading https://index/x/rich-15.0.0-py3-none-any.whl.metadata (18 kB)", 18e3,
         "rich-15.0.0-py3-none-any.whl.metadata"),
        ("Downloading torch-2.13.0.whl (1.2 GB)", 1.2e9, "torch-2.13.0.whl"),
        ("  Using cached numpy-2.4.0-cp313.whl (16.6 MB)", 0, ""),
        ("Successfully installed numpy-2.4.0", 0, ""),
    ],
)  # fmt: skip
def test_downloads(line: str, size: float, name: str) -> None:
    found, named = download(line)
    assert found == pytest.approx(size)
    assert named == name


def test_files_of_folders_are_counted(tmp_path: Path) -> None:
    wheel = tmp_path / "numpy-2.4.0-cp313.whl"
    wheel.write_bytes(bytes(1000))
    folder = tmp_path / "sources"
    folder.mkdir()
    assert taken_from_disk(f"Processing {wheel}\n") == 1000
    assert taken_from_disk(f"  Processing {wheel} (from jax<1,>=0.6)\n") == 1000
    assert taken_from_disk(f"Processing {folder}\n") == 0
    assert taken_from_disk(f"Processing {tmp_path}/gone-1.0.whl\n") == 0
    assert taken_from_disk("  Downloading numpy-2.4.0-cp313.whl (16.6 MB)\n") == 0


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


def test_what_pip_took_from_a_folder(tmp_path: Path) -> None:
    wheel = wheel_of_nothing(tmp_path)
    words: list[str | Path] = [
        "--no-index",
        "--find-links",
        tmp_path,
        "--target",
        tmp_path / "there",
        "nothing",
    ]
    done = install(Path(sys.executable), words)
    assert done.reason is None
    assert (done.downloaded, done.from_disk) == (0, wheel.stat().st_size)


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
        ([], "pip gave no reason"),
    ],
)
def test_the_reason(lines: list[str], reason: str) -> None:
    assert reason_of(lines) == reason


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip's output in a folder of the test's own."""
    monkeypatch.setattr(pip, "LOG", tmp_path / "logs" / "set-up.log")
    return pip.LOG


def test_a_failure_is_named_and_logged(tmp_path: Path, log: Path) -> None:
    for name in ("first", "second"):
        done = install(Path(sys.executable), ["--no-index", "--dry-run", tmp_path / name])
        assert done.reason is not None
        assert name in done.reason
        assert name in done.last_lines
    assert str(tmp_path / "first") in log.read_text()
    assert str(tmp_path / "second") in log.read_text()


def test_a_setting_that_no_venv_can_have_is_overruled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_USER", "1")
    done = install(Path(sys.executable), ["--no-index", "--dry-run", "pip"])
    assert done.reason is None
    assert done.downloaded == 0
