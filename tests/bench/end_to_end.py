# SPDX-License-Identifier: Apache-2.0
"""Whole passes over a video into a light model: ours beside what else users would write."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import av
import cv2
import numpy as np
import openvino
from openvino import opset13 as ops

import samebytes as sb
import samebytes_openvino as sbo

from .ways_to_a_model import CONFIG, OF_STREAMS, SIZE, STREAMS, WAYS

__all__ = ["Case", "end_to_end", "make_clip"]


@dataclass(frozen=True)
class Case:
    """A kind of video, and how many streams of it at a time.

    Attributes:
        width, height: of its pictures, in pixels.
        format: of the frames in the file, by FFmpeg's name.
        streams: how many there are at a time.
        share: of the usual number of frames, since large ones take longer.
    """

    width: int
    height: int
    format: str = "yuv420p"
    streams: int = 1
    share: float = 1


_CASES = (
    Case(1280, 720),
    Case(1920, 1080),
    Case(3840, 2160, share=0.4),
    Case(1280, 720, "nv12"),
    Case(1280, 720, streams=STREAMS, share=0.5),
)
# The way that computes the same, and how much more CPU time than that one ours may take.
_LIKE = {
    "image_model, fast": ("by hand", 1.05),
    "Pipeline, threads=0": ("by hand", 1.08),
    "Pipeline, threads=1": ("by hand", None),
    "Pipeline, threads=2": ("by hand", None),
    "image_model": ("by hand, in place", None),
    "AsyncInferQueue by hand": ("by hand", None),
}


@dataclass
class _Passes:
    """The passes of one way.

    Attributes:
        cpu, wall: milliseconds for each frame, by pass.
        peak: the most memory that its process had, in MB.
    """

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    peak: float = 0


def end_to_end(quick: bool) -> bool:
    """Print a table for each size.

    Args:
        quick: fewer and shorter passes.

    Returns:
        True if all that computes the same had the same results.
    """
    equal = True
    rounds, frames = (3, 60) if quick else (7, 300)
    left_out = set() if _has_gstreamer() else {"GStreamer appsink"}
    if left_out:
        print("missing GStreamer with PyGObject: its appsink is left out")
    for case in _CASES:
        with tempfile.TemporaryDirectory() as name:
            folder, count = Path(name), round(frames * case.share)
            clip = _prepare(folder, count, case)
            # What GStreamer has no demuxer for.
            names = [*(WAYS if case.streams == 1 else OF_STREAMS)]
            gone = left_out | ({"GStreamer appsink"} if case.format == "nv12" else set())
            passes = _measured(folder, clip, rounds, [n for n in names if n not in gone], case)
            of = f"{case.width}x{case.height}, {rounds} passes of {count} frames"
            what = {1: "A video"}.get(case.streams, f"{case.streams} videos")
            print(f"\n{what} into a light model: {case.format}, {of}")
            equal &= _print(passes, folder)
    return equal


def _light() -> openvino.Model:
    """A network of two convolutions, which takes about a millisecond."""
    random = np.random.default_rng(0)
    image = ops.parameter([1, 3, SIZE, SIZE], np.float32, name="image")
    node: Any = image
    for channels, inputs, stride in ((8, 3, 4), (16, 8, 2)):
        weights = random.normal(0, 0.1, (channels, inputs, 3, 3)).astype(np.float32)
        node = ops.relu(
            ops.convolution(node, ops.constant(weights), [stride] * 2, [0, 0], [0, 0], [1, 1])
        )
    return openvino.Model([ops.result(ops.reduce_mean(node, ops.constant([3])))], [image], "light")


def _has_gstreamer() -> bool:
    """True if GStreamer's bindings and an H.264 decoder are there."""
    try:
        import gi

        gi.require_version("Gst", "1.0")
        gi.require_version("GstApp", "1.0")
        from gi.repository import Gst
    except (ImportError, ValueError):
        return False
    Gst.init(None)
    return any(Gst.ElementFactory.find(n) for n in ("avdec_h264", "openh264dec"))


def make_clip(path: Path, frames: int, case: Case) -> None:
    """A video of as much detail and motion as one of a camera: noise of all sizes, which moves.

    Of NV12 the frames themselves: software decoders give no such.
    """
    width, height = case.width, case.height
    random = np.random.default_rng(0)
    whole = np.zeros((height + frames, width + 2 * frames), np.float32)
    for step in (1, 2, 4, 8, 16, 32, 64):
        shape = tuple(length // step + 2 for length in whole.shape)
        coarse = random.normal(0, 3 * step**0.5, shape).astype(np.float32)
        scaled = cv2.resize(coarse, None, fx=step, fy=step, interpolation=cv2.INTER_LINEAR)
        whole += scaled[: whole.shape[0], : whole.shape[1]]
    luma = np.clip(whole + 120, 16, 235).astype(np.uint8)
    with av.open(str(path), "w") as container:
        options = {"preset": "veryfast", "crf": "23"}
        if case.format == "nv12":
            stream: Any = container.add_stream("rawvideo", rate=25)
        else:
            stream = container.add_stream("libx264", rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, case.format
        for number in range(frames):
            picture = luma[number : number + height, 2 * number : 2 * number + width]
            chroma = cv2.resize(picture, (width // 2, height // 2))
            colors = [chroma.ravel(), 255 - chroma.ravel()]
            if case.format == "nv12":
                colors = [np.stack(colors, axis=1).ravel()]
            planes = np.concatenate([picture.ravel(), *colors])
            native = av.VideoFrame.from_ndarray(planes.reshape(-1, width), case.format)
            native.pts, native.time_base = number, Fraction(1, 25)
            container.mux(stream.encode(native))
        container.mux(stream.encode(None))


def _prepare(folder: Path, frames: int, case: Case) -> Path:
    """The video, the model, and the two that image_model() makes of it, for those by hand."""
    clip = folder / ("clip.nut" if case.format == "nv12" else "clip.mp4")
    light = folder / "light.xml"
    make_clip(clip, frames, case)
    openvino.save_model(_light(), light, compress_to_fp16=False)
    with av.open(str(clip)) as container:
        first = sb.frame(next(container.decode(video=0)))
    qualities: dict[str, Literal["exact", "fast"]] = {"exact": "exact", "resized": "fast"}
    for name, quality in qualities.items():
        made = sbo.image_model(light, first, config=CONFIG, quality=quality)
        made.infer(first)
        (folder / f"{name}.blob").write_bytes(made.compiled.export_model().getvalue())
    return clip


def _measured(
    folder: Path, clip: Path, rounds: int, names: list[str], case: Case
) -> dict[str, _Passes]:
    """All ways in turns, each in its own process, which was warmed by one pass."""
    passes = {name: _Passes() for name in names}
    with ExitStack() as stack:
        processes = {}
        for name in names:
            command = [
                sys.executable,
                "-m",
                "tests.bench.ways_to_a_model",
                name,
                str(case.streams),
                str(clip),
                str(folder),
            ]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            processes[name] = stack.enter_context(process)
        for number in range(rounds + 1):
            for name, process in processes.items():
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write("\n")
                process.stdin.flush()
                said = json.loads(process.stdout.readline())
                if number:
                    passes[name].cpu.append(1000 * said["cpu"] / said["frames"])
                    passes[name].wall.append(1000 * said["wall"] / said["frames"])
                passes[name].peak = said["peak"]
    return passes


def _print(passes: dict[str, _Passes], folder: Path) -> bool:
    """The table; True if results are equal where they must be."""
    all_equal = True
    width = max(map(len, passes))
    print(f"  {'':{width}}  CPU ms  by hand  wall ms  MB     results")
    for name, one in passes.items():
        like, goal = _LIKE.get(name, ("by hand", None))
        ratio = _ratio(one.cpu, passes["by hand"].cpu)
        said = "other pixels"
        if name in _LIKE:
            ours, theirs = (np.load(folder / f"{way}.npy") for way in (name, like))
            equal = bool(np.array_equal(ours, theirs))
            all_equal &= equal
            said = f"{'equal to' if equal else 'NOT EQUAL TO'} {like!r}"
            if like != "by hand":
                said += f", {_ratio(one.cpu, passes[like].cpu):.2f} times its CPU"
        elif name in ("by hand", "by hand, in place"):
            said = ""
        star = f" (goal {goal}) *" if goal is not None and ratio > goal else ""
        cpu, wall = statistics.median(one.cpu), statistics.median(one.wall)
        numbers = f"{cpu:6.2f}  {ratio:7.2f}  {wall:7.2f}  {one.peak:5.0f}"
        print(f"  {name:{width}}  {numbers}  {said}{star}")
    return all_equal


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
