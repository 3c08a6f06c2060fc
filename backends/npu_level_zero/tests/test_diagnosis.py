# SPDX-License-Identifier: Apache-2.0
"""The doctor's answers if something is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from samebytes.errors import MissingDependencyError
from samebytes.plugins import advice_to_open
from samebytes_npu_level_zero import LevelZeroError, _probe, _system
from samebytes_npu_level_zero._abi.results import Result
from samebytes_npu_level_zero._diagnosis import explain_no_device
from samebytes_npu_level_zero._loader import LIBRARY_NAME
from samebytes_npu_level_zero._probe import probe


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    """A /dev with the node of an NPU and that of a GPU."""
    for node in ("accel/accel0", "dri/renderD128"):
        (tmp_path / node).parent.mkdir()
        (tmp_path / node).touch()
    return tmp_path


def test_no_hardware(tmp_path: Path) -> None:
    missing, hint = explain_no_device(root=tmp_path)
    assert str(tmp_path / "accel" / "accel*") in missing
    assert str(tmp_path / "dri" / "renderD*") in missing
    assert "samebytes-softdevices run --npu" in hint
    assert "dri" not in explain_no_device("NPU", tmp_path)[0]


def test_no_permission(nodes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda node, mode: not mode or Path(node).name != "accel0")
    missing, hint = explain_no_device(root=nodes)
    assert missing == f"permission to use {nodes}/accel/accel0"
    assert hint == advice_to_open(nodes / "accel" / "accel0")
    assert explain_no_device("GPU", nodes)[0].startswith("a Level Zero driver")


def test_no_driver(nodes: Path) -> None:
    missing, hint = explain_no_device(root=nodes)
    assert missing == f"a Level Zero driver for {nodes}/accel/accel0"
    assert "intel-level-zero-npu" in hint
    assert "libze-intel-gpu1" in explain_no_device("GPU", nodes)[1]


def test_on_windows(nodes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_system, "WINDOWS", True)
    assert "Windows" in explain_no_device(root=nodes)[1]


@pytest.mark.parametrize(
    ("error", "reason", "hint"),
    [
        (MissingDependencyError("level_zero", "Level Zero's loader", "apt install libze1"),
         "loader is missing", "apt install libze1"),
        (LevelZeroError("zeInit", Result.ERROR_DEVICE_LOST), "DEVICE_LOST", "driver"),
    ],
)  # fmt: skip
def test_the_probe_says_why(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str, hint: str
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(_probe, "load", fail)
    result = probe()
    assert not result.usable
    assert reason in result.reason
    assert hint in result.hint


@pytest.mark.usefixtures("device")
def test_the_probe_lists_devices() -> None:
    result = probe()
    assert result.usable
    assert "NPU" in result.reason
    assert LIBRARY_NAME in result.details
    assert "imports" in result.details["NPU"]


@pytest.mark.usefixtures("device")
def test_the_probe_reports_a_loader_that_is_too_old_for_openvino(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_probe, "open_library", object)
    assert "too old for OpenVINO's NPU plugin" in probe().details[LIBRARY_NAME]


@pytest.mark.usefixtures("device")
def test_the_probe_explains_an_npu_that_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = "permission to use /dev/accel/accel0", "join the group"
    monkeypatch.setattr(_probe, "entries", lambda library: [])
    monkeypatch.setattr(_probe, "explain_no_device", lambda *kind: answer)
    result = probe()
    assert not result.usable
    assert result.reason == "permission to use /dev/accel/accel0 is missing"
    assert result.hint == "join the group"
