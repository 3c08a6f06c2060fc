# SPDX-License-Identifier: Apache-2.0
"""Frame.convert of surfaces: by the GPU's video processing, from surface to surface."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import CopyRequiredError, UnsupportedObjectError
from samebytes_vaapi import VAAPIContext, VAFrame

if TYPE_CHECKING:
    from .conftest import Wrapped

SIZE = (64, 48)


@pytest.fixture
def surface(context: VAAPIContext) -> VAFrame:
    """A picture of red, by BT.601 of limited range."""
    sb.reset_stats()
    return filled(context, *SIZE)


def filled(context: VAAPIContext, width: int, height: int, **entries: str) -> VAFrame:
    frame = context.allocate_frame("NV12", width, height, metadata=entries)
    for array, value in zip(frame.map("cpu", "w").native, (81, (90, 240)), strict=True):
        array[...] = value
    return frame


def pixels(frame: sb.Frame[Any]) -> list[np.ndarray[Any, Any]]:
    return [np.array(plane) for plane in frame.map("cpu", "r").native]


def test_a_surface_becomes_a_surface(context: VAAPIContext, surface: VAFrame) -> None:
    surface.meta.pts, surface.meta.time_base = 7, Fraction(1, 25)
    small = surface.convert("RGBX", 32, 16)
    assert isinstance(small, VAFrame)
    assert small.context is context
    assert (small.image.format.name, small.image.width, small.image.height) == ("RGBX", 32, 16)
    assert (small.meta.pts, small.meta.time_base) == (7, Fraction(1, 25))
    (rgbx,) = pixels(small)
    assert np.all(abs(rgbx.astype(int) - (254, 0, 0, 255)) <= 1)
    stats = sb.stats()
    assert (stats.copies, stats.conversions) == (0, 1)
    assert stats.by_conversion["NV12 -> RGBX (vaapi)"].nbytes == 32 * 16 * 4


def test_formats_and_back(context: VAAPIContext) -> None:
    frame = context.allocate_frame("NV12", *SIZE)
    random = np.random.default_rng(1)
    for array in frame.map("cpu", "w").native:
        array[...] = random.integers(0, 256, array.shape)
    there = frame.convert("P010").convert("YV12").convert("I420").convert("NV12")
    assert all(isinstance(one, VAFrame) for one in (there, frame))
    for before, after in zip(pixels(frame), pixels(there), strict=True):
        assert np.array_equal(before, after)


@pytest.mark.parametrize(("matrix", "luma"), [("bt709", 63), ("smpte170m", 81)])
def test_colours_that_the_frame_says(context: VAAPIContext, matrix: str, luma: int) -> None:
    frame = context.allocate_frame("RGBX", *SIZE)
    frame.map("cpu", "w").native[0][...] = (255, 0, 0, 255)
    made = frame.convert("NV12", color_matrix=matrix)
    assert isinstance(made, VAFrame)
    assert made.metadata["color_matrix"] == matrix
    assert np.all(abs(pixels(made)[0].astype(int) - luma) <= 1)
    again = made.convert("RGBX")
    assert np.all(abs(pixels(again)[0].astype(int) - (255, 0, 0, 255)) <= 2)


def test_full_range(context: VAAPIContext) -> None:
    frame = filled(context, *SIZE, color_range="full")
    made = frame.convert("NV12", color_range="limited")
    assert np.all(abs(pixels(made)[0].astype(int) - 86) <= 1)


def test_methods(surface: VAFrame) -> None:
    luma = surface.map("cpu", "w").native[0]
    luma[...] = np.where(np.arange(SIZE[0]) % 2, 200, 0)
    half = (SIZE[0] // 2, SIZE[1] // 2)
    assert np.all(abs(pixels(surface.convert("NV12", *half))[0].astype(int) - 100) <= 1)
    nearest = surface.convert("NV12", *half, method="nearest")
    assert isinstance(nearest, VAFrame)
    assert set(np.unique(pixels(nearest)[0])) <= {0, 200}
    with pytest.raises(UnsupportedObjectError, match="VA-API scales by linear and nearest"):
        surface.convert("NV12", *half, method="cubic", memory="vaapi")


def test_pictures_that_are_smaller_than_their_surface(context: VAAPIContext) -> None:
    large = filled(context, 64, 48)
    large.map("cpu", "w").native[0][:, 40:] = 200
    picture = context.surface(large.handle("va_surface"), "NV12", 40, 30, keep=large)
    assert np.all(pixels(picture.convert("NV12", 80, 60))[0] == 81)


def test_nothing_to_change(surface: VAFrame) -> None:
    same = surface.convert("NV12")
    assert same.context is surface.context
    assert same.handle("va_surface") == surface.handle("va_surface")
    assert same.readonly
    assert sb.stats().conversions == 0


def test_memory_that_is_asked_for(surface: VAFrame) -> None:
    pytest.importorskip(
        "samebytes_ffmpeg", reason="missing package samebytes-ffmpeg: pip install samebytes-ffmpeg"
    )
    made = surface.convert("RGBX", memory="cpu")
    assert made.context.node == "cpu"
    assert made.native[0][0, 0, 3] == 255
    assert [*sb.stats().by_conversion] == ["NV12 -> RGBX (ffmpeg)"]
    # And what VA-API has no surfaces for.
    assert surface.convert("RGB24").context.node == "cpu"


def test_a_picture_in_memory_is_copied_to_the_gpu_only_if_that_is_asked_for() -> None:
    frame = sb.context("cpu").allocate_frame("NV12", *SIZE)
    with pytest.raises(CopyRequiredError):
        frame.convert("RGBX", memory="vaapi")
    with pytest.raises(CopyRequiredError):
        frame.convert("RGBX", by="vaapi")


def test_a_copy_that_is_allowed(context: VAAPIContext) -> None:
    frame = sb.context("cpu").allocate_frame("NV12", *SIZE)
    made = frame.convert("RGBX", memory="vaapi", copy=True)
    assert made.context is context


def test_what_the_driver_refuses(wrapped: Wrapped) -> None:
    frame = filled(wrapped.context, *SIZE)
    frame.convert("RGBX")  # a way that works, until now
    wrapped.functions.fail("vaRenderPicture", 20)
    with pytest.raises(UnsupportedObjectError, match="vaRenderPicture failed with 20"):
        frame.convert("RGBX", memory="vaapi")
    succeeded = wrapped.functions.succeeded
    assert succeeded["vaBeginPicture"] == succeeded["vaEndPicture"] == 2
    assert succeeded["vaCreateBuffer"] == succeeded["vaDestroyBuffer"] == 2


def test_a_driver_without_video_processing(wrapped: Wrapped) -> None:
    wrapped.functions.fail("vaCreateConfig", 12)
    with pytest.raises(UnsupportedObjectError, match="vaCreateConfig failed with 12"):
        filled(wrapped.context, *SIZE).convert("RGBX", memory="vaapi")


def test_all_is_destroyed_before_the_display(wrapped: Wrapped) -> None:
    kept = filled(wrapped.context, *SIZE).convert("RGBX")
    del wrapped.context, wrapped.display
    del kept
    gc.collect()
    ends = ["vaDestroyContext", "vaDestroyConfig", "vaTerminate"]
    called = [name for name, _ in wrapped.functions.calls if name in ends]
    assert called == ends


def test_fields_are_not_mixed(context: VAAPIContext) -> None:
    frame = filled(context, *SIZE, field_order="top")
    with pytest.raises(UnsupportedObjectError, match="fields of interlaced pictures"):
        frame.convert("RGBX", memory="vaapi")


def test_unknown_matrices_are_refused(context: VAAPIContext) -> None:
    frame = filled(context, *SIZE, color_matrix="ycgco")
    with pytest.raises(UnsupportedObjectError, match="ycgco"):
        frame.convert("RGBX", memory="vaapi")


def test_threads(surface: VAFrame) -> None:
    def once(number: int) -> bool:
        made = surface.convert("NV12", 32 + 2 * (number % 4), 24)
        return isinstance(made, VAFrame) and bool(np.all(pixels(made)[0] == 81))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(once, range(32)))


def test_nothing_is_left_in_the_driver(context: VAAPIContext) -> None:
    softdevices = pytest.importorskip(
        "samebytes_softdevices",
        reason="missing package samebytes-softdevices: pip install samebytes-softdevices",
    )
    first = filled(context, *SIZE).convert("RGBX")
    del first
    gc.collect()
    before = len(softdevices.va_live())
    for width in range(16, 80, 4):
        filled(context, *SIZE).convert("RGBX", width, 16)
    gc.collect()
    assert len(softdevices.va_live()) == before
