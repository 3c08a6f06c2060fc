# SPDX-License-Identifier: Apache-2.0
"""Colours as the numbers of planes: all formats x ranges x matrices."""

from __future__ import annotations

import pytest

from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import (
    COLOR_MATRICES,
    LUMA_WEIGHTS,
    ImageFormat,
    color_components,
    colors_of,
    image_format,
    known_formats,
)

WORDS = {f.name for f in known_formats() if f.planes[0].channels * 2 < len(f.plane_names[0])}
COLOURS = [(255, 0, 0), (0, 255, 0), (10, 20, 200), (255, 255, 255), (0, 0, 0), (77, 77, 77)]

# Of BT.601, BT.709 and BT.2020 for bars of 100 %, and of JFIF.
KNOWN = [
    ("I420", "limited", "smpte170m", (255, 0, 0), (81, 90, 240)),
    ("I420", "limited", "bt470bg", (0, 0, 255), (41, 240, 110)),
    ("NV12", "limited", "bt709", (255, 0, 0), (63, 102, 240)),
    ("NV12", "limited", "bt709", (0, 255, 0), (173, 42, 26)),
    ("I444", "full", "smpte170m", (255, 0, 0), (76, 85, 255)),
    ("I420_10", "limited", "bt2020nc", (255, 255, 255), (940, 512, 512)),
    ("I420_10", "limited", "bt2020nc", (0, 0, 0), (64, 512, 512)),
    ("P010", "limited", "bt709", (255, 255, 255), (940 << 6, 512 << 6, 512 << 6)),
    ("I420_10", "full", "bt709", (255, 255, 255), (1023, 512, 512)),
    ("I420_16", "limited", "bt709", (255, 255, 255), (235 << 8, 1 << 15, 1 << 15)),
]


@pytest.mark.parametrize(("name", "range_", "matrix", "rgb", "yuv"), KNOWN)
def test_the_numbers_are_those_of_the_standards(
    name: str, range_: str, matrix: str, rgb: tuple[int, int, int], yuv: tuple[int, int, int]
) -> None:
    found = color_components(rgb, image_format(name), range_, matrix)
    assert tuple(found[letter] for letter in "yuv") == yuv


def rgb_of(
    numbers: dict[str, float], format_: ImageFormat, range_: str, matrix: str
) -> list[float]:
    """The colour, 0 to 255, that stands for the numbers: H.273 backwards."""
    top = float(2**format_.bit_depth - 1)
    step = 2.0 ** (format_.bit_depth - 8)
    if format_.planes[0].dtype.startswith("float"):
        top, step = 1.0, 1 / 255
    if format_.color_model == "rgb":
        return [numbers[letter] / top * 255 for letter in "rgb"]
    if range_ == "limited":
        black, white, middle, swing = 16 * step, 219 * step, 128 * step, 224 * step
    else:
        black, white, middle, swing = 0, top, (top + 1) // 2 if top > 1 else 0.5, top
    y = (numbers["y"] - black) / white
    if format_.color_model == "gray":
        return [y * 255] * 3
    pb, pr = ((numbers[letter] - middle) / swing for letter in "uv")
    kr, kb = LUMA_WEIGHTS[matrix]
    r, b = y + 2 * (1 - kr) * pr, y + 2 * (1 - kb) * pb
    return [255 * n for n in (r, (y - kr * r - kb * b) / (1 - kr - kb), b)]


@pytest.mark.parametrize("matrix", sorted(LUMA_WEIGHTS))
@pytest.mark.parametrize("range_", ["limited", "full"])
def test_every_format_gives_the_colour_back(range_: str, matrix: str) -> None:
    tried = 0
    for format_ in known_formats():
        if format_.name in WORDS:
            continue
        letters = set("".join(format_.plane_names))
        for rgb in COLOURS:
            found = color_components(rgb, format_, range_, matrix)
            assert letters <= set(found)
            plain = {name: number / (1 << format_.bit_shift) for name, number in found.items()}
            for number in found.values():
                # Bits that mean nothing stay 0, and whole numbers are whole.
                assert number % (1 << format_.bit_shift) == 0 or number < 1
            kr, kb = LUMA_WEIGHTS[matrix]
            luma = kr * rgb[0] + (1 - kr - kb) * rgb[1] + kb * rgb[2]
            meant = [luma] * 3 if format_.color_model == "gray" else list(rgb)
            # Half a step of each of y, u and v.
            off = 2.5 if format_.bit_depth == 8 else 1.5
            assert rgb_of(plain, format_, range_, matrix) == pytest.approx(meant, abs=off)
            assert plain["a"] == (1 if "float" in format_.planes[0].dtype else
                                  2**format_.bit_depth - 1)  # fmt: skip
            tried += 1
    assert tried > 600


def test_components_that_share_an_element_are_refused() -> None:
    assert {"RGB565", "Y410", "X2RGB10"} <= WORDS
    assert not WORDS & {"YUY2", "NV12", "VUYA", "Y210"}
    for name in WORDS:
        with pytest.raises(LayoutError, match=f"{name} has all components"):
            color_components((1, 2, 3), image_format(name), "full", "gbr")


@pytest.mark.parametrize("matrix", sorted(set(COLOR_MATRICES) - set(LUMA_WEIGHTS)))
def test_a_matrix_without_weights_is_refused_by_name_but_for_grays(matrix: str) -> None:
    format_ = image_format("I444")
    with pytest.raises(LayoutError, match=f"I444 of the matrix '{matrix}'"):
        color_components((1, 2, 3), format_, "limited", matrix)
    if matrix not in ("gbr", "smpte2085"):
        found = color_components((0, 0, 0), format_, "limited", matrix)
        assert [found[name] for name in "yuv"] == [16, 128, 128]


def test_what_a_frame_does_not_say_is_what_is_usual() -> None:
    nv12, gray, rgb = map(image_format, ("NV12", "GRAY8", "RGB"))
    assert colors_of(nv12, {}) == ("limited", "smpte170m")
    assert colors_of(nv12, {"color_range": "full"}) == ("full", "smpte170m")
    assert colors_of(nv12, {"color_matrix": "ycgco"}) == ("limited", "ycgco")
    assert colors_of(gray, {}) == ("full", "smpte170m")
    assert colors_of(gray, {"color_range": "limited", "color_matrix": "bt709"}) == (
        "limited",
        "bt709",
    )
    # FFmpeg's PNG decoder says so.
    assert colors_of(gray, {"color_matrix": "gbr"}) == ("full", "smpte170m")
    assert colors_of(rgb, {"color_range": "limited", "color_matrix": "bt709"}) == ("full", "gbr")
    for format_ in (nv12, gray, rgb):
        with pytest.raises(UnknownNameError, match="color_range"):
            colors_of(format_, {"color_range": "tv"})


def test_names_that_there_are_not_are_refused() -> None:
    nv12 = image_format("NV12")
    with pytest.raises(UnknownNameError, match="colour range"):
        color_components((1, 2, 3), nv12, "tv", "bt709")
    with pytest.raises(UnknownNameError, match="colour matrix"):
        color_components((1, 2, 3), nv12, "full", "BT.709")
