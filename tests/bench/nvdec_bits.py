# SPDX-License-Identifier: Apache-2.0
"""Compare what NVDEC decodes, as samebytes gives it to torch, with FFmpeg's own download.

    python3 -m tests.bench.nvdec_bits [--frames N] [--sizes 1080p 4K] [--clips FOLDER]

It needs an NVIDIA GPU, PyAV 17 or later and torch for CUDA. Each line is a codec, a depth and a
size: how many frames have the bits of FFmpeg's download, and how many those of its decoder in
software. A clip that is in FOLDER is not encoded: PyAV has no encoder for VP9 of 10 bits, and
`bundle.py --video` of contrib/cuda has that encoded by the system's FFmpeg. What the GPU cannot
decode is said in FFmpeg's words.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
import traceback
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import torch

import samebytes as sb
import samebytes_ffmpeg

Array = np.ndarray[Any, Any]

SIZES = {"1080p": (1920, 1080), "4K": (3840, 2160)}
CODECS: dict[str, tuple[str, str, dict[str, str]]] = {
    "H.264": ("libx264", "mp4", {"preset": "ultrafast", "bf": "2"}),
    "HEVC": ("libx265", "mp4", {"preset": "ultrafast", "x265-params": "log-level=none"}),
    "AV1": ("libsvtav1", "mp4", {"preset": "12"}),
    "VP9": ("libvpx-vp9", "webm", {"deadline": "realtime", "cpu-used": "8", "row-mt": "1"}),
}
FORMATS = {8: "yuv420p", 10: "yuv420p10le"}


def write(path: Path, codec: str, bits: int, size: str, frames: int) -> None:
    """A clip of a moving picture."""
    encoder, _, options = CODECS[codec]
    width, height = SIZES[size]
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(encoder, rate=30, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, FORMATS[bits]
        noise = np.random.default_rng(1).integers(0, 30, (height, width), np.uint8)
        for number in range(frames):
            luma = np.roll(noise, 3 * number, 1) + (np.arange(width) // 16 + number) % 180
            frame = av.VideoFrame(width, height, FORMATS[bits])
            planes = sb.frame(frame).map("cpu", "rw").native
            filled: tuple[Any, ...] = luma.astype(np.uint16), 60 + number, 90 + 2 * number
            for plane, values in zip(planes, filled, strict=True):
                plane[...] = values if bits == 8 else values * 4 + number % 4
            frame.pts, frame.time_base = number, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def by_torch(frame: Any) -> list[Array]:
    """The planes of a frame on the device, as torch reads them there."""
    return [torch.from_dlpack(plane).cpu().numpy() for plane in frame.map("cuda")]


def by_download(frame: Any) -> list[Array]:
    """The planes of FFmpeg's own copy of the frame in memory."""
    return [np.asarray(plane) for plane in frame.download().map("cpu").native]


def in_software(path: Path) -> Iterator[list[Array]]:
    """The planes that FFmpeg decodes in software, in the layout of NVDEC: NV12, or P010."""
    with samebytes_ffmpeg.open(path) as video:
        for frame in video:
            luma, blue, red = (np.asarray(plane) for plane in frame.map("cpu").native)
            chroma = np.stack([blue, red], axis=-1)
            yield [luma << 6, chroma << 6] if luma.dtype == np.uint16 else [luma, chroma]


def same(ours: list[Array], theirs: list[Array]) -> bool:
    """True if two pictures have the same bits."""
    return all(
        np.array_equal(one.reshape(-1).view(np.uint8), other.reshape(-1).view(np.uint8))
        for one, other in zip(map(np.ascontiguousarray, ours), map(np.ascontiguousarray, theirs),
                              strict=True)
    )  # fmt: skip


def compared(path: Path) -> str:
    """The fate of the frames of a clip, in words."""
    frames = downloads = softwares = 0
    with samebytes_ffmpeg.open(path, hwaccel="cuda") as video:
        for frame, software in itertools.zip_longest(video, in_software(path)):
            ours = by_torch(frame)
            frames += 1
            downloads += same(ours, by_download(frame))
            softwares += software is not None and same(ours, software)
            where = f"{frame.format.name} in {frame.context.node}"
    return (
        f"{frames} frames, {where}: {downloads} as FFmpeg's download, {softwares} as decoded in "
        "software"
    )


def main() -> None:
    """Print a line for each codec, depth and size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--frames", type=int, default=12)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--clips", type=Path, default=Path("build/gpu/clips"))
    options = parser.parse_args()
    os.environ["SVT_LOG"] = "1"  # of the encoder of AV1: errors alone
    print(torch.cuda.get_device_name(), "PyAV", av.__version__, "torch", torch.__version__)
    kinds = list(itertools.product(options.sizes, CODECS, FORMATS))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(4) as encoding:
        clips: dict[Path, tuple[str, Future[None]]] = {}
        for size, codec, bits in kinds:
            name = f"{codec}-{bits}-{size}.{CODECS[codec][1]}"
            path = options.clips / name
            written: Future[None] = Future()
            if path.exists():
                written.set_result(None)
            else:
                path = Path(folder) / name
                written = encoding.submit(write, path, codec, bits, size, options.frames)
            clips[path] = f"{codec} of {bits} bits, {size}", written
        for path, (name, written) in clips.items():
            try:
                written.result()
                print(f"{name}: {compared(path)}", flush=True)
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", flush=True)
                if not isinstance(error, sb.SamebytesError):
                    traceback.print_exc()


if __name__ == "__main__":
    main()
