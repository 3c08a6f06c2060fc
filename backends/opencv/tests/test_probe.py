# SPDX-License-Identifier: Apache-2.0
"""Answers of the probe, also where OpenCV is missing, old or broken."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import cv2
import pytest

import samebytes

Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a cv2 of that code before the real one, where child processes find it too."""

    def put(code: str) -> None:
        (tmp_path / "cv2.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)

    return put


def test_usable() -> None:
    result = samebytes.probe("opencv", 60)
    assert result.usable
    assert result.details["version"] == cv2.__version__


def test_not_installed(install: Install) -> None:
    install("raise ModuleNotFoundError(\"No module named 'cv2'\", name='cv2')\n")
    result = samebytes.probe("opencv", 60)
    assert not result.usable
    assert "pip install" in result.hint
    assert re.search(r"opencv(?!-)", result.hint)  # ours, and not opencv-python


def test_too_old(install: Install) -> None:
    install("__version__ = '4.8.1'\n")
    result = samebytes.probe("opencv", 60)
    assert not result.usable
    assert "4.8.1 is older than 4.10" in result.reason


def test_a_system_library_is_missing(install: Install) -> None:
    install("raise ImportError('libGL.so.1: cannot open shared object file')\n")
    result = samebytes.probe("opencv", 60)
    assert not result.usable
    assert "libGL.so.1" in result.reason
    assert "opencv-python-headless" in result.hint
