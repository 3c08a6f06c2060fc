# SPDX-License-Identifier: Apache-2.0
"""The software NPU's choice between the installed loader and standing in for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from samebytes_softdevices import SoftDeviceError
from samebytes_softdevices._libraries import library
from samebytes_softdevices._npu import DRIVER, LOADER_VARIABLE, plan

NEW = b"\0zeInit\0zeCommandListHostSynchronize\0zelLoaderGetVersions\0"
OLD = b"\0zeInit\0zelLoaderGetVersions\0"


@pytest.fixture(autouse=True)
def driver(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(LOADER_VARIABLE, raising=False)
    try:
        return library(DRIVER)
    except SoftDeviceError as error:
        pytest.skip(f"missing device NPU: {error}")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Let a loader with this content be the one that is found."""

    def install(content: bytes) -> None:
        (tmp_path / "libze_loader.so.1").write_bytes(content)
        monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))

    return install


def test_a_new_loader_gets_the_driver(installed: Callable[[bytes], None], driver: Path) -> None:
    installed(NEW)
    made = plan()
    assert made.environment["ZE_ENABLE_ALT_DRIVERS"] == str(driver)
    assert made.search == made.preload == made.interpose == ()


def test_an_old_loader_is_stood_in_for(installed: Callable[[bytes], None], driver: Path) -> None:
    installed(OLD)
    made = plan()
    (folder,) = made.search
    assert (folder / "libze_loader.so.1").resolve() == driver.resolve()
    assert made.preload == (driver,)


def test_the_stand_in_is_not_taken_for_an_installed_loader(
    driver: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that runs on the software NPU plans for its children, in the same way."""
    (tmp_path / "libze_loader.so.1").symlink_to(driver)
    first = plan()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert plan() == first


@pytest.mark.parametrize("content", [OLD, NEW])
def test_the_choice_can_be_made_by_hand(
    installed: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    installed(content)
    monkeypatch.setenv(LOADER_VARIABLE, "real")
    assert plan().search == ()
    monkeypatch.setenv(LOADER_VARIABLE, "stand-in")
    assert plan().search != ()


def test_other_choices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOADER_VARIABLE, "other")
    with pytest.raises(SoftDeviceError, match="use real or stand-in"):
        plan()


def test_a_driver_that_was_not_built_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samebytes_softdevices._npu.DRIVER", "libnothere.so")
    with pytest.raises(SoftDeviceError, match=r"libnothere\.so"):
        plan()
