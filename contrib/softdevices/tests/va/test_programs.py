# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of the driver: vainfo, and FFmpeg as a second opinion."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from samebytes_softdevices import va_report

Tool = Callable[..., "subprocess.CompletedProcess[str]"]

NODE = "/dev/null"  # the driver asks nothing of its node
# A width that is not a multiple of what rows are padded to.
PICTURES = ["-f", "lavfi", "-i", "testsrc2=size=322x180:rate=5:duration=1"]
DEVICES = [
    *("-init_hw_device", f"drm=node:{NODE}", "-init_hw_device", "vaapi=va@node"),
    *("-filter_hw_device", "va"),
]
UP_AND_DOWN = "hwupload,hwdownload"
LAYOUTS = {
    "linear": {},
    "tiled": {"SOFTVA_TILING": "y"},
    "separate objects": {"SOFTVA_OBJECTS": "separate"},
    "dense": {"SOFTVA_PITCH_ALIGN": "1"},
    "padded": {"SOFTVA_PITCH_ALIGN": "1024"},
    "no composed layers": {"SOFTVA_LAYERS": "separate"},
}


@pytest.fixture
def md5(run_tool: Tool, tmp_path: Path) -> Callable[..., str]:
    """The checksum of the pictures after filters; nothing may be left in the driver."""

    def call(format: str, filters: str = "", **environment: str) -> str:
        report = tmp_path / "report"
        report.unlink(missing_ok=True)
        chain = f"format={format},{filters},format={format}" if filters else f"format={format}"
        done = run_tool(
            "ffmpeg",
            *("ffmpeg", "-v", "error", *(DEVICES if filters else []), *PICTURES),
            *("-vf", chain, "-f", "md5", "-"),
            SOFTVA_REPORT=str(report),
            **environment,
        )
        assert done.returncode == 0, done.stderr
        if filters:
            assert va_report(report) == []
        return done.stdout

    return call


def test_vainfo_lists_what_there_is(run_tool: Tool) -> None:
    done = run_tool("vainfo", "vainfo", "--display", "drm", "--device", NODE)
    assert done.returncode == 0, done.stderr
    assert "samebytes software VA-API driver, for tests" in done.stdout
    offered = [line.split() for line in done.stdout.splitlines() if "VAEntrypoint" in line]
    assert offered[0] == ["VAProfileNone", ":", "VAEntrypointVideoProc"]
    # Where a libavcodec is; it decodes nothing else.
    assert offered[1:] in ([], [["VAProfileJPEGBaseline", ":", "VAEntrypointVLD"]])


def test_the_node_is_only_for_those_who_see_the_driver(
    run: Tool, run_tool: Tool, plain_environment: dict[str, str]
) -> None:
    del plain_environment
    assert run_tool("vainfo", "vainfo", "--display", "drm", "--device", NODE).returncode == 0
    done = run("vainfo", "--display", "drm", "--device", NODE)
    assert done.returncode != 0


@pytest.mark.parametrize(
    "format",
    [
        *("nv12", "p010", "yuv420p", "yuv422p", "yuv444p", "yuv440p", "yuv411p"),
        *("yuyv422", "uyvy422", "gray"),
        *("bgra", "bgr0", "rgba", "rgb0", "abgr", "argb", "0rgb", "x2rgb10"),
    ],
)
def test_ffmpeg_gets_back_what_it_uploads(md5: Callable[..., str], format: str) -> None:
    assert md5(format, UP_AND_DOWN) == md5(format)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("format", ["nv12", "yuv420p", "bgra"])
def test_every_layout_holds_the_same_pictures(
    md5: Callable[..., str], format: str, layout: str
) -> None:
    assert md5(format, UP_AND_DOWN, **LAYOUTS[layout]) == md5(format)


@pytest.mark.parametrize("layout", ["linear", "dense", "padded"])
def test_ffmpeg_maps_surfaces(md5: Callable[..., str], layout: str) -> None:
    mapped = md5("nv12", "hwupload,hwmap=mode=read+direct", **LAYOUTS[layout])
    assert mapped == md5("nv12")


@pytest.mark.parametrize("layout", ["linear", "separate objects"])
@pytest.mark.parametrize("format", ["nv12", "p010", "bgra"])
def test_ffmpeg_maps_exported_surfaces(md5: Callable[..., str], format: str, layout: str) -> None:
    through = "hwupload,hwmap=derive_device=drm:mode=read,format=drm_prime,hwdownload"
    assert md5(format, through, **LAYOUTS[layout]) == md5(format)


@pytest.mark.parametrize("format", ["nv12", "bgra"])
def test_ffmpeg_imports_what_it_exported(md5: Callable[..., str], format: str) -> None:
    out = "hwmap=derive_device=drm:mode=read+write,format=drm_prime"
    back = "hwmap=derive_device=vaapi:mode=read,format=vaapi"
    assert md5(format, f"hwupload,{out},{back},hwdownload") == md5(format)


def test_video_processing_copies(md5: Callable[..., str]) -> None:
    assert md5("nv12", "hwupload,scale_vaapi,hwdownload") == md5("nv12")


def test_what_video_processing_converts_comes_back(md5: Callable[..., str]) -> None:
    there = "scale_vaapi=format=p010,scale_vaapi=format=yuv420p,scale_vaapi=format=nv12"
    assert md5("nv12", f"hwupload,{there},hwdownload") == md5("nv12")


@pytest.fixture
def decoded(run_tool: Tool, tmp_path: Path) -> Callable[..., str]:
    """The checksum of an MJPEG clip of a pixel format, decoded by the CPU or by VA-API."""

    def call(format: str, hardware: bool = True, **environment: str) -> str:
        clip = tmp_path / f"{format}.avi"
        if not clip.exists():
            encode = ["-pix_fmt", format, "-c:v", "mjpeg", "-q:v", "3", str(clip)]
            made = run_tool("ffmpeg", "ffmpeg", "-v", "error", *PICTURES, *encode)
            assert made.returncode == 0, made.stderr
        by_vaapi = [*DEVICES[:4], "-hwaccel", "vaapi", "-hwaccel_device", "va"]
        surfaces = [*by_vaapi, "-hwaccel_output_format", "vaapi"]
        chain = "hwdownload,format=nv12,format=yuvj420p" if hardware else f"format={format}"
        done = run_tool(
            "ffmpeg",
            *("ffmpeg", "-v", "error", "-xerror", *(surfaces if hardware else [])),
            *("-i", str(clip), "-vf", chain, "-f", "md5", "-"),
            **environment,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.mark.parametrize("layout", ["linear", "tiled", "separate objects"])
def test_decoded_jpegs_are_those_of_ffmpegs_own_decoder_bit_for_bit(
    decoded: Callable[..., str], layout: str
) -> None:
    assert decoded("yuvj420p", **LAYOUTS[layout]) == decoded("yuvj420p", hardware=False)


def test_jpegs_of_other_samplings_are_refused(decoded: Callable[..., str]) -> None:
    with pytest.raises(AssertionError, match=r"end picture decode issue: 20"):
        decoded("yuvj422p")


def test_a_fault_is_a_programs_error(run_tool: Tool) -> None:
    chain = f"format=nv12,{UP_AND_DOWN}"
    done = run_tool(
        "ffmpeg",
        *("ffmpeg", "-v", "error", *DEVICES, *PICTURES, "-vf", chain, "-f", "null", "-"),
        SOFTVA_FAIL="vaCreateSurfaces=2",
    )
    assert done.returncode != 0
    assert "Failed to create surface: 2 (resource allocation failed)" in done.stderr
