# SPDX-License-Identifier: Apache-2.0
"""NT handles: what would be passed on Windows, shown with a driver made of Python."""

from __future__ import annotations

from typing import Any

import pytest

from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes_npu_level_zero import LevelZeroContext, NotExportableError, _system
from samebytes_npu_level_zero._abi.constants import ExternalMemoryType
from samebytes_npu_level_zero._abi.results import Result
from samebytes_npu_level_zero._abi.structures import (
    ze_external_memory_export_desc_t,
    ze_external_memory_export_win32_handle_t,
    ze_external_memory_import_win32_handle_t,
)
from samebytes_npu_level_zero._usm import query_nt_handle

PAGE = 4096


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer this package's questions about the system as on Windows."""
    monkeypatch.setattr(_system, "WINDOWS", True)


@pytest.fixture
def driver(fake: Any) -> Any:
    """A driver whose memory is at 0x5000, and goes by the NT handle 0x77."""

    def allocate(*arguments: Any) -> None:
        fake.seen = arguments
        importing = fake.chained(arguments[1], ze_external_memory_import_win32_handle_t)
        if importing is not None:
            fake.imported = importing.flags, importing.handle, importing.name
        fake.argument(arguments[-1]).value = 0x5000

    def export(_context: int, _pointer: int, properties: Any, _device: Any) -> int | None:
        wanted = fake.chained(properties, ze_external_memory_export_win32_handle_t)
        if wanted is None:
            return Result.ERROR_INVALID_ARGUMENT
        assert wanted.flags == ExternalMemoryType.OPAQUE_WIN32
        wanted.handle = 0x77
        return None

    fake.handlers["zeMemAllocDevice"] = allocate
    fake.handlers["zeMemAllocHost"] = allocate
    fake.handlers["zeMemGetAllocProperties"] = export
    return fake


@pytest.mark.usefixtures("windows")
def test_importing(driver: Any) -> None:
    context = LevelZeroContext(driver.context())
    tensor = context.import_nt_handle(0x1234, PAGE, (8, 8), "float32", offset=64)
    handle, _descriptor, size, alignment, device, _out = driver.seen
    assert (handle, size, alignment, device) == (0xC0, PAGE, 0, 0xDE)
    assert driver.imported == (ExternalMemoryType.OPAQUE_WIN32, 0x1234, None)
    assert tensor.native.kind == "device"
    assert tensor.handle() == 0x5000 + 64
    tensor.close()
    assert driver.named("zeMemFree") == [(0xC0, 0x5000)]


@pytest.mark.usefixtures("windows")
def test_bad_handles(driver: Any) -> None:
    context = LevelZeroContext(driver.context())
    for handle, nbytes, shape in ((0, PAGE, (4,)), (-1, PAGE, (4,)), (5, 0, (0,)), (5, 3, (4,))):
        with pytest.raises(LayoutError, match="NT handle"):
            context.import_nt_handle(handle, nbytes, shape)
    wrong: Any = "5"
    with pytest.raises(UnsupportedObjectError):
        context.import_nt_handle(wrong, PAGE, (4,))
    assert not driver.named("zeMemAllocDevice")


@pytest.mark.usefixtures("windows")
def test_exporting(driver: Any) -> None:
    context = LevelZeroContext(driver.context())
    exported: list[int] = []
    driver.handlers["zeMemAllocHost"] = lambda *arguments: _note_export(driver, exported, arguments)
    tensor = context.allocate((16,), exportable=True)
    assert exported == [ExternalMemoryType.OPAQUE_WIN32]
    assert tensor.export_nt_handle() == 0x77
    tensor.close()


def _note_export(driver: Any, exported: list[int], arguments: tuple[Any, ...]) -> None:
    exported.append(driver.chained(arguments[1], ze_external_memory_export_desc_t).flags)
    driver.argument(arguments[-1]).value = 0x6000


def test_a_driver_that_exports_none(driver: Any) -> None:
    driver.handlers["zeMemGetAllocProperties"] = lambda *_: None
    with pytest.raises(NotExportableError):
        query_nt_handle(driver.context(), 0x5000)


def test_on_linux(driver: Any) -> None:
    if _system.WINDOWS:
        pytest.skip("this is Windows")
    context = LevelZeroContext(driver.context())
    with pytest.raises(UnsupportedObjectError, match="exist only on Windows"):
        context.import_nt_handle(5, PAGE, (4,))
    with pytest.raises(UnsupportedObjectError, match="exist only on Windows"):
        context.allocate((4,)).export_nt_handle()
