# SPDX-License-Identifier: Apache-2.0
"""Surfaces made by libva, and written as arrays."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable
from typing import Any

import pytest

from samebytes_softdevices import SoftDeviceError, va_live
from samebytes_softdevices.va_surfaces import Display, create_surface, shared_display

from ..libva_calls import create_surfaces, destroy_surfaces, export, sync_surface

INVALID_SURFACE = 6

pytestmark = pytest.mark.usefixtures("no_leak")


@pytest.mark.parametrize(("format", "kind"), [("NV12", "|u1"), ("P010", "<u2"), ("P016", "<u2")])
def test_planes_are_arrays_over_the_surface(np: Any, format: str, kind: str) -> None:
    with create_surface(format, 30, 21) as surface:
        y, uv = map(np.asarray, surface.planes)
        assert (y.shape, uv.shape) == ((21, 30), (11, 15, 2))
        assert (y.dtype.str, uv.dtype.str) == (kind, kind)
        assert y.strides[0] == uv.strides[0] == 64
        y[...], uv[...] = 7, 9
        again = [np.asarray(plane) for plane in surface.planes]
        assert again[0].ctypes.data == y.ctypes.data
        assert (again[1] == 9).all()
        (live,) = (item for item in va_live("surface") if item.number("id") == surface.id)
        assert live.fields["format"] == format
        assert (live.number("width"), live.number("height")) == (30, 21)


def test_codes_of_formats_that_end_in_spaces() -> None:
    made = (ctypes.c_uint * 1)()
    display = Display()
    assert create_surfaces(display.address, "Y16 ", 8, 4, made) == 0
    (live,) = (item for item in va_live("surface") if item.number("id") == made[0])
    assert live.fields["format"] == "Y16"
    assert live.number("width") == 8
    assert all(live.fields)
    display.close()


def test_arrays_outlive_the_surface_and_its_display(np: Any) -> None:
    display = Display()
    surface = display.create_surface("NV12", 64, 32)
    y = np.asarray(surface.planes[0])
    surface.close()
    surface.close()
    assert surface.planes == ()
    display.close()
    display.close()
    y[...] = 5
    assert int(y.sum()) == 5 * 64 * 32


def test_finalizers_may_run_while_the_display_is_in_use() -> None:
    """In the thread that uses it: allocations start the collector at any moment."""
    display = Display()
    cycle: list[Any] = [display.create_surface("NV12", 64, 32)]
    cycle.append(cycle)
    before = len(va_live("surface"))
    with display._lock:
        del cycle
        gc.collect()
    assert len(va_live("surface")) == before - 1
    display.close()


def test_a_surface_that_is_dropped_is_destroyed() -> None:
    surface = create_surface("NV12", 64, 32)
    number = surface.id
    assert sync_surface(surface.display, number) == 0
    del surface
    gc.collect()
    assert sync_surface(shared_display().address, number) == INVALID_SURFACE


def test_what_cannot_be_is_reported(display_with: Callable[..., Display]) -> None:
    with pytest.raises(SoftDeviceError, match="planes of YUY2 are not arrays; use NV12"):
        create_surface("YUY2", 64, 64)
    with pytest.raises(SoftDeviceError, match="vaCreateSurfaces of NV12 0x64 failed with"):
        create_surface("NV12", 0, 64)
    with pytest.raises(SoftDeviceError, match="tiled: its planes are not arrays"):
        display_with(SOFTVA_TILING="y").create_surface("NV12", 64, 64)
    failing = display_with(SOFTVA_FAIL="vaExportSurfaceHandle@1=20")
    failing.create_surface("NV12", 64, 64).close()
    with pytest.raises(SoftDeviceError, match=r"vaExportSurfaceHandle of surface \d+ failed"):
        failing.create_surface("NV12", 64, 64)
    gc.collect()


def test_a_value_without_a_meaning_is_reported(
    display_with: Callable[..., Display], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SoftDeviceError, match="vaInitialize failed"):
        display_with(SOFTVA_MEMORY="disk")
    assert "SOFTVA_MEMORY has a value without a meaning: disk" in capfd.readouterr().err


def test_the_driver_must_be_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBVA_DRIVER_NAME", "iHD")
    with pytest.raises(SoftDeviceError, match="samebytes-softdevices run --vaapi"):
        Display()


@pytest.mark.parametrize("separate", [False, True])
def test_planes_may_have_objects_of_their_own(
    np: Any, display_with: Callable[..., Display], separate: bool
) -> None:
    display = display_with(**({"SOFTVA_OBJECTS": "separate"} if separate else {}))
    with display.create_surface("NV12", 64, 32) as surface:
        y, uv = map(np.asarray, surface.planes)
        y[...], uv[...] = 1, 2
        status, exported = export(display.address, surface.id, layers=True)
        assert status == 0
        assert len(exported) == 1 + separate
        assert len(va_live("descriptor")) == len(exported)
        for fd in exported:
            os.close(fd)
        assert va_live("descriptor") == []


def test_many_surfaces_of_many_formats(display_with: Callable[..., Display]) -> None:
    display = display_with()
    made = (ctypes.c_uint * 8)()
    for code in ("NV12", "444P", "BGRA", "Y210", "RGBP"):
        assert create_surfaces(display.address, code, 64, 64, made) == 0
        assert len({*made}) == 8
        assert destroy_surfaces(display.address, made) == 0
        assert destroy_surfaces(display.address, made) == INVALID_SURFACE
