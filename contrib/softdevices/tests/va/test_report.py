# SPDX-License-Identifier: Apache-2.0
"""The report of what is left when displays and processes end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from samebytes_softdevices import SoftDeviceError, VaObject, va_report

Tool = Callable[..., "subprocess.CompletedProcess[str]"]

LEAVE = """
import ctypes, os, sys
from samebytes_softdevices import _va_abi as abi
from samebytes_softdevices._va_abi import libva
from samebytes_softdevices.va_surfaces import Display

display = Display()
made = (ctypes.c_uint * 2)()
attributes = (abi.SurfaceAttribute * 1)(abi.pixel_format("NV12"))
assert libva().vaCreateSurfaces(display.address, 0, 64, 32, made, 2, attributes, 1) == 0
exported, flags = abi.SurfaceDescriptor(), abi.EXPORT_READ_WRITE
export = libva().vaExportSurfaceHandle
arguments = display.address, made[0], abi.MEM_TYPE_DRM_PRIME_2, flags, ctypes.byref(exported)
assert export(*arguments) == 0
image = ctypes.create_string_buffer(120)  # VAImage
assert libva().vaDeriveImage(ctypes.c_void_p(display.address), made[1], image) == 0
print(*made, exported.objects[0].fd)
if "terminate" in sys.argv:
    display.close()
if "fork" in sys.argv:
    sys.stdout.flush()
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("how", ["terminate", "exit"])
def test_what_is_left_is_listed(run_tool: Tool, tmp_path: Path, how: str) -> None:
    report = tmp_path / "report"
    done = run_tool("python3", sys.executable, "-c", LEAVE, how, SOFTVA_REPORT=str(report))
    assert done.returncode == 0, done.stderr
    first, second, fd = map(int, done.stdout.split())
    found = va_report(report)
    kinds = [item.kind for item in found]
    assert sorted(kinds) == ["buffer", "descriptor", "image", "surface", "surface"]
    assert [o.number("id") for o in found if o.kind == "surface"] == [first, second]
    (buffer,) = (o for o in found if o.kind == "buffer")
    assert (buffer.number("surface"), buffer.number("mapped")) == (second, 0)
    (descriptor,) = (o for o in found if o.kind == "descriptor")
    assert (descriptor.number("fd"), descriptor.number("surface")) == (fd, first)
    assert found[0].fields["format"] == "NV12"


def test_a_fork_does_not_report_what_is_not_its_own(run_tool: Tool, tmp_path: Path) -> None:
    report = tmp_path / "report"
    done = run_tool("python3", sys.executable, "-c", LEAVE, "fork", SOFTVA_REPORT=str(report))
    assert done.returncode == 0, done.stderr
    assert report.read_text().count("softva end") == 1


def test_the_report_may_go_to_stderr(run_tool: Tool) -> None:
    done = run_tool("python3", sys.executable, "-c", LEAVE, "terminate", SOFTVA_REPORT="stderr")
    assert done.stderr.count("softva surface id=") == 2
    assert done.stderr.endswith("softva end\n")


def test_calls_are_traced(run_tool: Tool) -> None:
    done = run_tool("python3", sys.executable, "-c", LEAVE, SOFTVA_TRACE="1")
    assert "softva: vaExportSurfaceHandle: 0\n" in done.stderr
    assert "NV12 64x32" in done.stderr


def test_a_report_of_no_display_is_not_a_report(tmp_path: Path) -> None:
    report = tmp_path / "report"
    with pytest.raises(FileNotFoundError):
        va_report(report)
    report.write_text("libva info: something else\nsoftva\n")
    with pytest.raises(SoftDeviceError, match="has no record of the end of a display"):
        va_report(report)
    report.write_text("softva surface id=3 format=NV12\nsoftva end\n")
    assert va_report(report) == [VaObject("surface", {"id": "3", "format": "NV12"})]
