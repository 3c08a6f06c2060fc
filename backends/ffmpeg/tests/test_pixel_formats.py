# SPDX-License-Identifier: Apache-2.0
"""Every pixel format of FFmpeg is described as FFmpeg lays it out, or refused with the reason."""

from __future__ import annotations

from ctypes import c_int

import av
import av.video.format
import pytest
from av.video.format import VideoFormat

import samebytes.elements as el
from samebytes.errors import ElementError, LayoutError, UnknownNameError
from samebytes.formats import ImageFormat, PlaneFormat
from samebytes_ffmpeg import _avutil
from samebytes_ffmpeg._pixel_formats import (
    Palette,
    image_format,
    image_format_named,
    pixel_format_name,
)

NAMES = sorted(vars(av.video.format)["names"])  # left out of PyAV's stubs


def _number(name: str) -> int:
    return int(_avutil.get_pix_fmt(name.encode()))


def _reason(name: str) -> str | None:
    """Return the reason why a format has no planes, from what PyAV says of it, or None."""
    described = VideoFormat(name)
    if not described.components or described.bits_per_pixel == 0:
        return "device"
    if described.is_bit_stream:
        return "not whole bytes"
    return "big-endian" if described.is_big_endian else None


MAPPED = [name for name in NAMES if _reason(name) is None]
REFUSED = [name for name in NAMES if _reason(name) is not None]


@pytest.mark.pyav17
def test_there_are_formats_of_both_kinds() -> None:
    assert len(MAPPED) > 140
    assert {"monow", "gray16be", "vaapi", "drm_prime", "cuda", "rgb4"} <= set(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
def test_a_format_without_planes_of_elements_is_refused_by_name(name: str) -> None:
    with pytest.raises(LayoutError, match=rf"\b{name}\b.*{_reason(name)}"):
        image_format(_number(name))


def test_what_a_refusal_advises_works_in_a_pipeline() -> None:
    frame = av.VideoFrame(32, 24, "monow")
    with pytest.raises(ElementError, match=r"no element takes it.*reformat\(\).*any iterable"):
        el.Pipeline([frame], el.create("convert", "RGB")).run()
    reformatted = (one.reformat(format="gray") for one in [frame])
    (found,) = el.Pipeline(reformatted, el.create("convert", "RGB")).start()
    assert found.image.format.name == "RGB"


@pytest.mark.parametrize("name", MAPPED)
def test_rows_are_as_long_as_ffmpeg_makes_them(name: str) -> None:
    """libavutil/imgutils.h: av_image_get_linesize says how many bytes of a row are used."""
    linesize = _avutil.PYAV.quick("av_image_get_linesize", c_int, c_int, c_int, c_int)
    image = image_format(_number(name))
    for width in (1, 2, 5, 16, 33):
        for number, layout in enumerate(image.plane_layouts(width, 3)):
            if isinstance(image.planes[number], Palette):
                assert (layout.shape, layout.nbytes) == ((256, 4), 1024)
            else:
                assert layout.row_nbytes == linesize(_number(name), width, number)


@pytest.mark.parametrize("name", MAPPED)
def test_planes_are_as_high_and_as_many_as_in_pyav(name: str) -> None:
    image = image_format(_number(name))
    for height in (1, 2, 5, 16):
        planes = av.VideoFrame(16, height, name).planes
        layouts = image.plane_layouts(16, height)
        for layout, plane, kind in zip(layouts, planes, image.planes, strict=True):
            assert layout.shape[0] == (256 if isinstance(kind, Palette) else plane.height)


@pytest.mark.parametrize("name", MAPPED)
def test_the_way_back_gives_the_same_layout(name: str) -> None:
    image = image_format_named(name)
    back = pixel_format_name(image)
    assert image_format_named(back) == image
    if name not in ImageFormat.of("I420").aliases and "yuvj" not in name:
        assert back == name


@pytest.mark.parametrize("name", MAPPED)
def test_elements_have_room_for_every_component(name: str) -> None:
    """Depth and shift of each component fit the element that holds it."""
    described = _avutil.pix_fmt_desc_get(_number(name)).contents
    image = image_format(_number(name))
    for component in described.comp[: described.nb_components]:
        plane = image.planes[component.plane]
        assert component.shift + component.depth <= 8 * plane.itemsize
        assert component.step % plane.itemsize == 0


def test_a_format_that_ffmpeg_lacks_has_no_name() -> None:
    with pytest.raises(LayoutError, match="no pixel format for YV12"):
        pixel_format_name(ImageFormat.of("YV12"))


def test_a_foreign_format_with_a_known_name_is_not_taken_for_it() -> None:
    odd = ImageFormat(
        "ODD", (PlaneFormat(1),), plane_names=("y",), color_model="gray", bit_depth=8,
        ffmpeg_name="rgb24",
    )  # fmt: skip
    with pytest.raises(LayoutError, match="is not what FFmpeg's rgb24 is"):
        pixel_format_name(odd)


def test_unknown_names_and_numbers_are_errors() -> None:
    with pytest.raises(UnknownNameError):
        image_format_named("no_such_format")
    with pytest.raises(LayoutError, match="no pixel format 99999"):
        image_format(99999)
