# SPDX-License-Identifier: Apache-2.0
"""The table of known formats as a whole, and the ways to look one up."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import ImageFormat, PlaneFormat, image_format, known_formats

every_format = pytest.mark.parametrize("fmt", known_formats(), ids=str)

# Bytes of a frame without padding at 1920x1080 and at 5x3, counted by hand.
SIZES = {
    "NV12": (3_110_400, 15 + 2 * 6),
    "NV21": (3_110_400, 15 + 2 * 6),
    "NV16": (4_147_200, 15 + 2 * 9),
    "NV24": (6_220_800, 15 + 2 * 15),
    "AV12": (5_184_000, 15 + 2 * 6 + 15),
    "P010": (6_220_800, 2 * (15 + 2 * 6)),
    "P016": (6_220_800, 2 * (15 + 2 * 6)),
    "I420": (3_110_400, 15 + 6 + 6),
    "YV12": (3_110_400, 15 + 6 + 6),
    "I420_10": (6_220_800, 2 * (15 + 6 + 6)),
    "I422": (4_147_200, 15 + 9 + 9),
    "I422_10": (8_294_400, 2 * (15 + 9 + 9)),
    "I440": (4_147_200, 15 + 10 + 10),
    "I444": (6_220_800, 15 + 15 + 15),
    "I411": (3_110_400, 15 + 6 + 6),
    "I410": (2_332_800, 15 + 2 + 2),
    "A420": (5_184_000, 15 + 6 + 6 + 15),
    "YUY2": (4_147_200, 3 * 6 * 2),
    "UYVY": (4_147_200, 3 * 6 * 2),
    "Y210": (8_294_400, 3 * 6 * 4),
    "VUYA": (8_294_400, 60),
    "Y410": (8_294_400, 60),
    "Y412": (16_588_800, 120),
    "GRAY8": (2_073_600, 15),
    "GRAY16": (4_147_200, 30),
    "GRAYF32": (8_294_400, 60),
    "YA8": (4_147_200, 30),
    "RGB": (6_220_800, 45),
    "BGRX": (8_294_400, 60),
    "RGBA64": (16_588_800, 120),
    "RGB565": (4_147_200, 30),
    "X2RGB10": (8_294_400, 60),
    "RGBP": (6_220_800, 45),
    "RGBPF32": (24_883_200, 180),
    "GBRAP16": (16_588_800, 120),
}

# The same memory in the words of others.
SPELLINGS = {
    "nv12": "NV12",
    "yuv420p": "I420",
    "yuvj420p": "I420",
    "iyuv": "I420",
    "Y42B": "I422",
    "Y444": "I444",
    "YUYV": "YUY2",
    "yuyv422": "YUY2",
    "P010_10LE": "P010",
    "p010": "P010",
    "p010le": "P010",
    "I420_10LE": "I420_10",
    "yuv420p10": "I420_10",
    "rgb24": "RGB",
    "bgr0": "BGRX",
    "BGRx": "BGRX",
    "0rgb": "XRGB",
    "gray": "GRAY8",
    "GRAY16_LE": "GRAY16",
    "gray16": "GRAY16",
    "gbrp": "GBRP",
    "rgb565": "RGB565",
    "RGB16": "RGB565",
}


@every_format
def test_every_spelling_finds_its_format_in_any_case(fmt: ImageFormat) -> None:
    spellings = [fmt.name, *fmt.aliases]
    assert fmt.ffmpeg_name is None or fmt.ffmpeg_name in (s.lower() for s in spellings)
    for spelling in spellings:
        # A spelling that two formats claimed would find only one of them.
        assert image_format(spelling) is fmt
        assert image_format(spelling.upper()) is fmt
        assert image_format(spelling.lower()) is fmt


@pytest.mark.parametrize(("spelling", "name"), SPELLINGS.items())
def test_spellings_of_others(spelling: str, name: str) -> None:
    assert image_format(spelling).name == name


def test_names_fourccs_and_ffmpeg_names_are_unique() -> None:
    formats = known_formats()
    assert len({f.name.lower() for f in formats}) == len(formats)
    for values in ([f.fourcc for f in formats], [f.ffmpeg_name for f in formats]):
        given = [value for value in values if value is not None]
        assert len(set(given)) == len(given)


@every_format
def test_planes_agree_with_their_names(fmt: ImageFormat) -> None:
    assert set(fmt.channel_order.lower()) <= set("yuvrgbax")
    components = set(fmt.channel_order.lower()) - set("ax")
    assert components == {"yuv": set("yuv"), "rgb": set("rgb"), "gray": {"y"}}[fmt.color_model]
    for plane, name in zip(fmt.planes, fmt.plane_names, strict=True):
        in_one_word = plane.channels == 1 and len(name) > 1
        assert in_one_word or plane.channels * plane.x_multiple == len(name)
        if set(name) - set("uv"):
            assert (plane.x_shift, plane.y_shift) == (0, 0)


@pytest.mark.parametrize(("name", "sizes"), SIZES.items())
def test_frame_sizes(name: str, sizes: tuple[int, int]) -> None:
    fmt = image_format(name)
    assert (fmt.frame_nbytes(1920, 1080), fmt.frame_nbytes(5, 3)) == sizes


@every_format
@pytest.mark.parametrize("size", [(1, 1), (5, 3), (64, 48)])
def test_packed_planes_follow_one_another(fmt: ImageFormat, size: tuple[int, int]) -> None:
    end = 0
    for layout in fmt.packed_layouts(*size):
        assert layout.offset == layout.start == end
        assert layout.contiguous
        end += layout.span
    assert end == fmt.frame_nbytes(*size)


def test_planes_stand_in_the_order_of_memory() -> None:
    assert image_format("I420").plane_names == ("y", "u", "v")
    assert image_format("YV12").plane_names == ("y", "v", "u")
    assert image_format("YV12").channel_order == "YVU"
    assert image_format("NV12").channel_order == "YUV"
    assert image_format("GBRP").channel_order == "GBR"
    assert image_format("BGRX").plane_names == ("bgrx",)


def test_unknown_names_come_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown image format 'nv-12'") as caught:
        image_format("nv-12")
    assert "NV12" in caught.value.nearest
    with pytest.raises(UnknownNameError):
        image_format(12)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fourcc", "name"),
    [
        (0x3231564E, "NV12"),
        (0x32315559, "I420"),
        (0x32315659, "YV12"),
        (0x30313050, "P010"),
        (0x34325258, "BGRX"),  # DRM_FORMAT_XRGB8888
        (0x34324241, "RGBA"),  # DRM_FORMAT_ABGR8888
        (0x34324752, "BGR"),  # DRM_FORMAT_RGB888
        (0x56555941, "VUYA"),  # DRM_FORMAT_AYUV
        (0x20203852, "GRAY8"),  # DRM_FORMAT_R8
    ],
)
def test_drm_fourccs(fourcc: int, name: str) -> None:
    assert image_format(name).fourcc == fourcc
    assert ImageFormat.from_fourcc(fourcc) is image_format(name)


@pytest.mark.parametrize("code", [0x3331564E, 0, -1, 1 << 40])
def test_unknown_fourccs(code: int) -> None:
    with pytest.raises(UnknownNameError, match="unknown DRM fourcc"):
        ImageFormat.from_fourcc(code)


def test_formats_are_values() -> None:
    nv12 = image_format("NV12")
    twin = pickle.loads(pickle.dumps(nv12))
    assert twin is not nv12
    assert twin == nv12
    assert hash(twin) == hash(nv12)
    assert nv12 != image_format("NV21")
    assert str(nv12) == f"{nv12}" == "NV12"
    assert image_format(twin) is twin


def test_a_format_of_ones_own() -> None:
    luma, chroma = PlaneFormat(1, dtype="uint16"), PlaneFormat(1, 0, 2, "uint16")
    fmt = ImageFormat(
        "tall",
        (luma, chroma, chroma),
        plane_names=("y", "u", "v"),
        color_model="yuv",
        bit_depth=12,
    )
    assert [layout.shape for layout in fmt.plane_layouts(4, 6)] == [(6, 4), (2, 4), (2, 4)]
    assert fmt.frame_nbytes(4, 6) == 2 * (24 + 8 + 8)
    with pytest.raises(UnknownNameError):
        image_format("tall")


def test_wider_elements_are_aligned_behind_narrower_ones() -> None:
    fmt = ImageFormat(
        "depth",
        (PlaneFormat(1), PlaneFormat(1, dtype="float32")),
        plane_names=("y", "a"),
        color_model="gray",
        bit_depth=8,
    )
    assert [layout.offset for layout in fmt.packed_layouts(5, 3)] == [0, 16]
    assert fmt.frame_nbytes(5, 3) == 16 + 60


@pytest.mark.parametrize(
    ("planes", "names", "bits", "shift", "message"),
    [
        ((), (), 8, 0, "has no planes"),
        ((PlaneFormat(1),), ("y", "uv"), 8, 0, "1 plane but 2 plane names"),
        ((PlaneFormat(1),), ("y",), 10, 0, "8-bit elements"),
        ((PlaneFormat(1),), ("y",), 8, 1, "8-bit elements"),
        ((PlaneFormat(1),), ("y",), 0, 0, "bit_depth 0"),
        ((PlaneFormat(1),), ("y",), 8, -1, "bit_shift -1"),
    ],
)
def test_formats_that_contradict_themselves(
    planes: tuple[PlaneFormat, ...], names: tuple[str, ...], bits: int, shift: int, message: str
) -> None:
    with pytest.raises(LayoutError, match=message):
        ImageFormat(
            "odd",
            planes,
            plane_names=names,
            color_model="gray",
            bit_depth=bits,
            bit_shift=shift,
        )


def test_importing_formats_brings_no_numpy_and_no_framework() -> None:
    code = (
        "import importlib.util, sys, types\n"
        # An empty stand-in for the package itself, whose own imports are not the question here.
        "spec = importlib.util.find_spec('samebytes')\n"
        "bare = types.ModuleType('samebytes')\n"
        "bare.__path__ = list(spec.submodule_search_locations)\n"
        "sys.modules['samebytes'] = bare\n"
        "import samebytes.formats\n"
        "samebytes.formats.image_format('nv12')\n"
        "print(*sorted({m.split('.')[0] for m in sys.modules} & {'numpy', 'av', 'cv2', 'gi'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
