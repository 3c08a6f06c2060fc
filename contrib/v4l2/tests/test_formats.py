# SPDX-License-Identifier: Apache-2.0
"""The places of planes in a buffer, and what frames say of colours and fields."""

from __future__ import annotations

from typing import Any

import pytest

from samebytes import ImageFormat
from samebytes.errors import LayoutError, UnknownNameError, UnsupportedObjectError
from samebytes.formats import Colorimetry
from samebytes_v4l2 import _abi
from samebytes_v4l2._colors import colors_of, fields_of
from samebytes_v4l2._formats import FOURCCS, NAMES, Layout, fourcc_text, pitches_of
from samebytes_v4l2._settings import code_among


def pix(code: str, width: int, height: int, pitch: int, size: int, **says: Any) -> Any:
    return _abi.v4l2_pix_format(
        width=width, height=height, pixelformat=_abi.v4l2_fourcc(code), bytesperline=pitch,
        sizeimage=size, field=says.pop("field", _abi.V4L2_FIELD_NONE), **says,
    )  # fmt: skip


def test_every_name_is_a_format_here() -> None:
    assert {ImageFormat.of(name).name for name in NAMES.values()} == set(FOURCCS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NV12", [1024, 1024]),
        ("NV16", [1024, 1024]),
        ("NV24", [1024, 2048]),
        ("P010", [1024, 1024]),
        ("I420", [1024, 512, 512]),
        ("I422", [1024, 512, 512]),
        ("I411", [1024, 256, 256]),
        ("I410", [1024, 256, 256]),
        ("YUY2", [1024]),
        ("BGRX", [1024]),
        ("RGB565", [1024]),
    ],
)
def test_pitches_of_the_other_planes(name: str, expected: list[int]) -> None:
    """Documentation/userspace-api/media/v4l/pixfmt-v4l2.rst, on bytesperline."""
    assert pitches_of(ImageFormat.of(name), 1024) == expected


def test_planes_follow_each_other_in_whole_rows() -> None:
    layout = Layout.of(pix("YU12", 640, 480, 704, 704 * 480 * 3 // 2))
    assert str(layout.image) == "I420 640x480"
    assert [plane.pitch for plane in layout.planes] == [704, 352, 352]
    assert [plane.offset for plane in layout.planes] == [0, 704 * 480, 704 * 480 + 352 * 240]
    assert layout.nbytes == 704 * 480 * 3 // 2
    assert layout.metadata == {"field_order": "progressive"}


def test_a_driver_without_pitches_packs_its_rows() -> None:
    layout = Layout.of(pix("NV12", 64, 32, 0, 64 * 48))
    assert [(plane.pitch, plane.offset) for plane in layout.planes] == [(64, 0), (64, 2048)]


def test_planes_that_do_not_fit() -> None:
    with pytest.raises(LayoutError, match="takes 3071 bytes, but it takes 3072"):
        Layout.of(pix("NV12", 64, 32, 64, 3071))


@pytest.mark.parametrize("code", ["MJPG", "RGGB", "H264"])
def test_formats_without_rows(code: str) -> None:
    with pytest.raises(UnsupportedObjectError, match=f"gives {code}, which is not a picture"):
        Layout.of(pix(code, 64, 32, 0, 10000))


@pytest.mark.parametrize(
    ("name", "there", "code"),
    [
        ("YUY2", "NV12 YUYV", "YUYV"),
        ("YUYV", "NV12 YUYV", "YUYV"),
        ("MJPG", "NV12 MJPG", "MJPG"),
        ("RGBO", "XR15 RGBO", "RGBO"),  # V4L2 has two codes of this layout
        ("RGB555", "XR15 RGBO", "XR15"),
        ("RGB565", "NV12 RGBP", "RGBP"),
        ("RGBP", "NV12 RGBP", None),  # planar RGB here
        ("NV16", "NV12 YUYV", None),
    ],
)
def test_the_code_of_a_format(name: str, there: str, code: str | None) -> None:
    found = code_among([_abi.v4l2_fourcc(one) for one in there.split()], name)
    assert (None if found is None else fourcc_text(found)) == code


def test_a_format_that_nobody_knows() -> None:
    with pytest.raises(UnknownNameError):
        code_among([_abi.v4l2_fourcc("NV12")], "MJPG")


def test_colors_that_the_driver_names() -> None:
    found = colors_of(
        pix("NV12", 64, 32, 64, 3072, colorspace=_abi.V4L2_COLORSPACE_BT2020,
            xfer_func=_abi.V4L2_XFER_FUNC_SMPTE2084, ycbcr_enc=_abi.V4L2_YCBCR_ENC_BT2020,
            quantization=_abi.V4L2_QUANTIZATION_FULL_RANGE),
        ImageFormat.of("NV12"),
    )  # fmt: skip
    assert found == Colorimetry("full", "bt2020", "smpte2084", "bt2020nc")


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        ("DEFAULT", Colorimetry()),
        ("SRGB", Colorimetry("limited", "bt709", "iec61966-2-1", "smpte170m")),
        ("JPEG", Colorimetry("full", "bt709", "iec61966-2-1", "smpte170m")),
        ("REC709", Colorimetry("limited", "bt709", "bt709", "bt709")),
        ("SMPTE170M", Colorimetry("limited", "smpte170m", "bt709", "smpte170m")),
    ],
)
def test_colors_that_go_without_saying(space: str, expected: Colorimetry) -> None:
    """The macros V4L2_MAP_*_DEFAULT of the header."""
    number = getattr(_abi, f"V4L2_COLORSPACE_{space}")
    said = pix("YUYV", 64, 32, 128, 4096, colorspace=number)
    assert colors_of(said, ImageFormat.of("YUY2")) == expected


def test_rgb_has_no_matrix() -> None:
    said = pix("RGB3", 64, 32, 192, 6144, colorspace=_abi.V4L2_COLORSPACE_SRGB)
    found = colors_of(said, ImageFormat.of("RGB"))
    assert found == Colorimetry(None, "bt709", "iec61966-2-1", None)


@pytest.mark.parametrize(
    ("field", "height", "expected"),
    [
        ("NONE", 480, {"field_order": "progressive"}),
        ("ANY", 480, {}),
        ("INTERLACED_TB", 480, {"field_order": "top"}),
        ("INTERLACED_BT", 576, {"field_order": "bottom"}),
        ("INTERLACED", 480, {"field_order": "bottom"}),
        ("INTERLACED", 576, {"field_order": "top"}),
    ],
)
def test_fields(field: str, height: int, expected: dict[str, str]) -> None:
    assert fields_of(getattr(_abi, f"V4L2_FIELD_{field}"), height) == expected


@pytest.mark.parametrize("field", ["TOP", "BOTTOM", "SEQ_TB", "SEQ_BT", "ALTERNATE"])
def test_single_fields_are_not_pictures(field: str) -> None:
    with pytest.raises(LayoutError, match="one field, or two after each other"):
        fields_of(getattr(_abi, f"V4L2_FIELD_{field}"), 480)
