# SPDX-License-Identifier: Apache-2.0
"""DRM's names for the layers of images."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import (
    ImageFormat,
    drm_layer_fourccs,
    image_format,
    image_format_of_drm_layers,
    known_formats,
)

HEADERS = tuple(
    Path(p) for p in ("/usr/include/libdrm/drm_fourcc.h", "/usr/include/drm/drm_fourcc.h")
)


def code(text: str) -> int:
    return int.from_bytes(text.ljust(4).encode(), "little")


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("NV12", ("R8", "GR88")),
        ("P010", ("R16", "GR32")),
        ("I420", ("R8", "R8", "R8")),
        ("I420_10", ("R16", "R16", "R16")),
        ("BGRX", ("XR24",)),
        ("YUY2", ("YUYV",)),
        ("GRAY8", ("R8",)),
    ],
)
def test_the_codes_of_separate_layers(name: str, codes: tuple[str, ...]) -> None:
    expected = tuple(map(code, codes))
    assert drm_layer_fourccs(image_format(name)) == expected


def test_the_codes_are_those_of_the_header() -> None:
    text = next((p.read_text() for p in HEADERS if p.exists()), None)
    if text is None:
        pytest.skip("missing header drm_fourcc.h: apt install libdrm-dev")
    found = re.findall(
        r"#define\s+(DRM_FORMAT_\w+)\s+fourcc_code\(('.'), ('.'), ('.'), ('.')\)", text
    )
    header = {name: code("".join(letter[1] for letter in letters)) for name, *letters in found}
    plain = image_format("NV12"), image_format("P010")
    assert [c for f in plain for c in drm_layer_fourccs(f)] == [
        header[f"DRM_FORMAT_{name}"] for name in ("R8", "GR88", "R16", "GR1616")
    ]
    for swapped, expected in (("RG88", plain[0]), ("RG1616", plain[1])):
        layers = (drm_layer_fourccs(expected)[0], 1), (header[f"DRM_FORMAT_{swapped}"], 1)
        assert image_format_of_drm_layers(layers, expected) is expected


def test_every_format_comes_back_from_its_layers() -> None:
    for known in known_formats():
        if known.fourcc is not None:
            assert image_format_of_drm_layers([(known.fourcc, len(known.planes))]) is known
        try:
            codes = drm_layer_fourccs(known)
        except LayoutError:
            continue
        assert image_format_of_drm_layers([(c, 1) for c in codes], known) is known


def test_planes_that_drm_cannot_name() -> None:
    for name in ("RGBPF32", "GRAYF32", "V30X"):
        with pytest.raises(LayoutError, match="DRM has no code"):
            drm_layer_fourccs(image_format(name))


R8, GR88 = code("R8"), code("GR88")


@pytest.mark.parametrize(
    ("layers", "expected", "why"),
    [
        ([(R8, 1), (GR88, 1)], None, "do not determine the image format"),
        ([], None, "do not determine the image format"),
        ([], "NV12", "has 2 planes"),
        ([(R8, 1)] * 3, "NV12", "has 2 planes"),
        ([(R8, 1), (GR88, 2)], "NV12", r"\[1, 2\]"),
        ([(R8, 1), (R8, 1)], "NV12", "layer 1 has the code 'R8  '"),
        ([(R8, 1), (GR88, 1)], "P010", "layer 0"),
        ([(code("NV12"), 3)], None, "its layer has 3"),
        ([(code("NV12"), 2)], "NV16", "declared as NV16"),
        ([(code("XR24"), 1)], "RGBX", "declared as RGBX"),
    ],
)
def test_layers_that_contradict(
    layers: list[tuple[int, int]], expected: str | None, why: str
) -> None:
    said = None if expected is None else ImageFormat.of(expected)
    with pytest.raises(LayoutError, match=why):
        image_format_of_drm_layers(layers, said)


def test_a_code_that_nobody_knows() -> None:
    with pytest.raises(UnknownNameError, match="DRM fourcc"):
        image_format_of_drm_layers([(code("????"), 1)])
