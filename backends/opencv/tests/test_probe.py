# SPDX-License-Identifier: Apache-2.0
"""What the probe says."""

from __future__ import annotations

import sys

import cv2
import pytest

from samebytes_opencv._probe import probe


def test_usable() -> None:
    result = probe()
    assert result.usable
    assert result.details["version"] == cv2.__version__


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    result = probe()
    assert not result.usable
    assert result.hint == 'pip install "samebytes[opencv]"'


def test_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cv2, "__version__", "4.8.1")
    result = probe()
    assert not result.usable
    assert "4.8.1 is older than 4.10" in result.reason


def test_a_system_library_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("broken")
    (folder / "cv2.py").write_text(
        'raise ImportError("libGL.so.1: cannot open shared object file")\n'
    )
    monkeypatch.delitem(sys.modules, "cv2")
    monkeypatch.syspath_prepend(folder)
    result = probe()
    assert not result.usable
    assert "libGL.so.1" in result.reason
    assert "opencv-python-headless" in result.hint
