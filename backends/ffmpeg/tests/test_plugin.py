# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations, which cost no import of PyAV, and the answers of its probe."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
import samebytes_ffmpeg
from samebytes.errors import (
    MissingDependencyError,
    NoRouteError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_ffmpeg import FFmpegFrame, FFmpegPlane


def _run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )


def test_importing_the_plugin_does_not_import_pyav() -> None:
    ended = _run(
        "import sys, samebytes_ffmpeg, samebytes_ffmpeg._plugin as p\n"
        "p.samebytes_tensors(), p.samebytes_contexts(), p.samebytes_mappers()\n"
        "assert not {'av', 'samebytes_ffmpeg._avutil'} & set(sys.modules)"
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_public_names_come_when_asked_for() -> None:
    assert dir(samebytes_ffmpeg) == sorted(samebytes_ffmpeg.__all__)
    for name in samebytes_ffmpeg.__all__:
        assert getattr(samebytes_ffmpeg, name).__module__.startswith("samebytes_ffmpeg.")
    assert samebytes_ffmpeg.FFmpegContext is type(sb.context("ffmpeg"))
    with pytest.raises(AttributeError, match="no_such"):
        samebytes_ffmpeg.no_such  # type: ignore[attr-defined]  # noqa: B018


def test_every_declared_class_is_there() -> None:
    (found,) = entry_points(group="samebytes.plugins", name="ffmpeg")
    plugin = found.load()
    specs: list[Any] = [*plugin.samebytes_tensors(), *plugin.samebytes_contexts(),
                        *plugin.samebytes_mappers()]  # fmt: skip
    for spec in specs:
        named = getattr(spec, "wraps", None) or getattr(spec, "context", None) or spec.mapper
        module, _, name = named.partition(":")
        assert isinstance(getattr(import_module(module), name), type)
    for native in plugin.samebytes_tensors():
        module, _, name = native.native.rpartition(".")
        assert f"{getattr(import_module(module), name).__module__}.{name}" == native.native


def test_the_probe_reports_the_versions() -> None:
    result = sb.probe("ffmpeg")
    assert result.usable
    assert result.details["av"] == av.__version__
    assert result.details["libavutil"] == ".".join(map(str, av.library_versions["libavutil"]))


@pytest.mark.parametrize(
    ("break_it", "why"),
    [
        ("sys.modules['av'] = None", "PyAV"),
        (
            "import samebytes_ffmpeg._avframe_abi as abi; abi.AVFRAMES = {99: None}",
            "libavutil 99 to 99",
        ),
        (
            """
import ctypes, samebytes_ffmpeg._avutil_abi as abi
class AVBuffer(ctypes.Structure):
    _fields_ = (("pad", ctypes.c_void_p), *abi.AVBuffer._fields_)
abi.AVBuffer = AVBuffer
""",
            "buffers have the layout",
        ),
        (
            """
import ctypes, samebytes_ffmpeg._avframe_abi as abi
for major, known in list(abi.AVFRAMES.items()):
    class AVFrame(ctypes.Structure):
        _fields_ = (*known._fields_[:8], ("new", ctypes.c_void_p), *known._fields_[8:])
    abi.AVFRAMES[major] = AVFrame
""",
            "frames have the layout",
        ),
        (
            """
import ctypes, samebytes_ffmpeg._avframe_abi as abi
for major, known in list(abi.AVFRAMES.items()):
    place = [name for name, *_ in known._fields_].index("hw_frames_ctx")
    class AVFrame(ctypes.Structure):
        _fields_ = (*known._fields_[:place], ("new", ctypes.c_void_p), *known._fields_[place:])
    abi.AVFRAMES[major] = AVFrame
""",
            "frames have the layout",
        ),
        (
            """
import ctypes, samebytes_ffmpeg._avframe_abi as abi
for major, known in list(abi.AVFRAMES.items()):
    place = [name for name, *_ in known._fields_].index("color_range")
    class AVFrame(ctypes.Structure):
        _fields_ = (*known._fields_[:place], *known._fields_[place + 1:])
    abi.AVFRAMES[major] = AVFrame
""",
            "frames have the layout",
        ),
    ],
)
def test_the_probe_says_what_is_wrong(break_it: str, why: str) -> None:
    ended = _run(
        f"import sys\n{break_it}\nfrom samebytes_ffmpeg._probe import probe\nresult = probe()\n"
        "assert not result.usable and 'pip install' in result.hint, result\nprint(result.reason)"
    )
    assert ended.returncode == 0, ended.stderr
    assert why in ended.stdout


def test_using_frames_without_pyav_names_the_package() -> None:
    ended = _run(
        "import sys\nsys.modules['av'] = None\nimport samebytes as sb\n"
        "try:\n    sb.context('ffmpeg')\nexcept sb.errors.MissingDependencyError as e: print(e)"
    )
    assert "pip install" in ended.stdout, ended.stderr
    assert "ffmpeg" in ended.stdout.partition("pip install")[2]
    assert issubclass(MissingDependencyError, ImportError)


class TestBadInput:
    def test_wrapping_something_else(self) -> None:
        for wrap in (FFmpegFrame.wrap, FFmpegPlane.wrap):
            for thing in (None, 3, np.zeros(3), av.VideoFrame, av.VideoFrame(4, 4, "gray").format):
                with pytest.raises(UnsupportedObjectError):
                    wrap(thing)

    def test_a_frame_is_not_a_tensor_and_a_plane_not_a_frame(self) -> None:
        native = av.VideoFrame(4, 4, "gray")
        with pytest.raises(UnsupportedObjectError, match=r"frame\(\)"):
            sb.tensor(native)
        with pytest.raises(UnsupportedObjectError):
            sb.frame(native.planes[0])

    def test_unknown_handles_targets_and_modes(self) -> None:
        frame = sb.frame(av.VideoFrame(4, 4, "gray"))
        for use in (
            lambda: frame.handle("cl_mem"),
            lambda: frame.handle("nonsense"),
            lambda: frame.planes[0].handle("cl_mem"),
            lambda: frame.map("nonsense"),
            lambda: frame.map("cpu", "x"),  # type: ignore[call-overload]  # what is tested
            lambda: sb.context("ffmpeg:1"),
        ):
            with pytest.raises(UnknownNameError):
                use()

    def test_a_tensor_does_not_become_a_plane(self) -> None:
        with pytest.raises(NoRouteError):
            sb.tensor(np.zeros((4, 4), np.uint8)).map("ffmpeg")

    def test_ffmpeg_allocates_no_tensors(self) -> None:
        with pytest.raises(UnsupportedObjectError, match="cannot allocate"):
            sb.context("ffmpeg").allocate((3, 4))


def test_there_is_one_context() -> None:
    assert (
        sb.context("ffmpeg")
        is sb.context("ffmpeg")
        is sb.frame(av.VideoFrame(4, 4, "gray")).context
    )


def test_routes_name_what_they_do() -> None:
    assert "ALIAS" in str(sb.route("ffmpeg", "cpu"))
    assert "ALIAS" in str(sb.route("cpu", "ffmpeg", level="frame"))
