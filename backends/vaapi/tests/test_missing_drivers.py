# SPDX-License-Identifier: Apache-2.0
"""Things that a machine may lack (nodes, permission, libva, a driver, an X server), and advice."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from samebytes.errors import MissingDependencyError, UnknownNameError
from samebytes.plugins import advice_to_open
from samebytes.testing import run_program
from samebytes_vaapi import VAAPIContext

from .conftest import terminations


@pytest.mark.usefixtures("render_nodes")
def test_without_nodes() -> None:
    with pytest.raises(MissingDependencyError, match="samebytes-softdevices run --vaapi"):
        VAAPIContext.open()


@pytest.mark.usefixtures("device")
def test_no_drm_node(tmp_path: Path) -> None:
    plain = tmp_path / "file"
    plain.write_bytes(b"")
    for path, reason in ((plain, "not a DRM node"), (tmp_path / "none", "No such file")):
        with pytest.raises(UnknownNameError, match=reason):
            VAAPIContext.open(str(path))


def test_no_permission(wrapped: Any, node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(MissingDependencyError, match="permission to use") as caught:
        wrapped.open(node)
    assert caught.value.hint == advice_to_open(node)


@pytest.mark.parametrize(
    ("opened", "said"),
    [
        ("real('libva.so.2.missing')", "apt install libva2"),
        ("object()", "install libva 2.1 or later"),  # a libva without a single function
    ],
    ids=["no library", "a library that is too old"],
)
def test_what_libva_there_is(opened: str, said: str, node: str) -> None:
    program = f"""
        import ctypes
        from samebytes.errors import MissingDependencyError
        from samebytes_vaapi import VAAPIContext
        real = ctypes.CDLL
        def other(name, *arguments, **named):
            return {opened} if name == "libva.so.2" else real(name, *arguments, **named)
        ctypes.CDLL = other
        try:
            VAAPIContext.open({node!r})
        except MissingDependencyError as error:
            print(error)
    """
    assert said in run_program(program)


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
    sysfs: Path,
) -> None:
    """By the vendor that sysfs reports."""
    number = Path(node).stat().st_rdev
    folder = sysfs / f"{os.major(number)}:{os.minor(number)}" / "device"
    folder.mkdir(parents=True)
    if vendor is not None:
        (folder / "vendor").write_text(f"{vendor:#x}\n")
    monkeypatch.delenv("LIBVA_DRIVER_NAME", raising=False)
    wrapped.functions.fail("vaInitialize", -1)
    with pytest.raises(MissingDependencyError, match=package):
        wrapped.open(node)
    assert terminations(wrapped) == 1, "a display without a driver is freed, too"


@pytest.mark.usefixtures("device")
def test_no_x_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":4095")
    for name in (None, ":4095"):
        with pytest.raises(MissingDependencyError, match="an X server at ':4095'"):
            VAAPIContext.open_x11(name)
