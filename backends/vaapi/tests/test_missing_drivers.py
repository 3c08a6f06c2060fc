# SPDX-License-Identifier: Apache-2.0
"""What a machine may lack: nodes, permission, libva, a driver, an X server; and what to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from samebytes.errors import MissingDependencyError, UnknownNameError
from samebytes.plugins import advice_to_open
from samebytes.testing import run_program
from samebytes_vaapi import VAAPIContext, _displays, _nodes
from samebytes_vaapi._library import Library, open_library
from samebytes_vaapi._opening import open_drm

from .conftest import terminations


def test_without_nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(_displays.ENVIRONMENT, raising=False)
    monkeypatch.setattr(_nodes, "FOLDER", tmp_path)
    with pytest.raises(MissingDependencyError, match="samebytes-softdevices run --vaapi"):
        VAAPIContext.open()


@pytest.mark.usefixtures("device")
def test_no_drm_node(tmp_path: Path) -> None:
    plain = tmp_path / "file"
    plain.write_bytes(b"")
    for path, reason in ((plain, "not a DRM node"), (tmp_path / "none", "No such file")):
        with pytest.raises(UnknownNameError, match=reason):
            VAAPIContext.open(str(path))


def test_no_permission(node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(MissingDependencyError, match="permission to use") as caught:
        _nodes.open_node(node)
    assert caught.value.hint == advice_to_open(node)


def test_no_library() -> None:
    with pytest.raises(MissingDependencyError, match="apt install libva2"):
        open_library("libva.so.2.missing", "libva2")


def test_a_library_that_is_too_old() -> None:
    class Old:
        """A libva without a single function."""

    with pytest.raises(MissingDependencyError, match=r"libva 2\.1 or later"):
        Library(Old())


@pytest.mark.usefixtures("device")
def test_no_driver(node: str) -> None:
    """It says which, where and what to do, leaves nothing open, and prints nothing."""
    program = f"""
        import os
        from samebytes.errors import MissingDependencyError
        from samebytes_vaapi import VAAPIContext
        for _ in range(2):
            before = os.listdir("/proc/self/fd")
            try:
                VAAPIContext.open({node!r})
            except MissingDependencyError as error:
                text, kept = str(error), error
        assert os.listdir("/proc/self/fd") == before
        print(text)
    """
    said = run_program(program, LIBVA_DRIVER_NAME="no_such", LIBVA_MESSAGING_LEVEL="")
    assert f"a VA-API driver for {node} (vaInitialize failed" in said
    assert "LIBVA_DRIVER_NAME is 'no_such': unset it" in said


@pytest.mark.parametrize(
    ("vendor", "package"),
    [(0x8086, "intel-media-va-driver"), (0x1002, "mesa-va-drivers"), (None, "va-driver-all")],
)
def test_drivers_to_install(
    wrapped: Any,
    node: str,
    vendor: int | None,
    package: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """By the vendor that sysfs reports."""
    number = Path(node).stat().st_rdev
    folder = tmp_path / f"{os.major(number)}:{os.minor(number)}" / "device"
    folder.mkdir(parents=True)
    if vendor is not None:
        (folder / "vendor").write_text(f"{vendor:#x}\n")
    monkeypatch.setattr(_nodes, "SYSTEM", tmp_path)
    monkeypatch.delenv("LIBVA_DRIVER_NAME", raising=False)
    wrapped.functions.fail("vaInitialize", -1)
    with pytest.raises(MissingDependencyError, match=package):
        open_drm(Library(wrapped.functions), node)
    assert terminations(wrapped) == 1, "a display without a driver is freed, too"


@pytest.mark.usefixtures("device")
def test_no_x_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":4095")
    for name in (None, ":4095"):
        with pytest.raises(MissingDependencyError, match="an X server at ':4095'"):
            VAAPIContext.open_x11(name)
