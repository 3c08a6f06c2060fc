# SPDX-License-Identifier: Apache-2.0
"""Measure decoding by NVDEC to a convolution of torch on the luma, beside other ways to it.

    python3 tests/bench/nvdec.py [--rounds N] [--sizes 1080p 4K] [--streams 1 4 8]
                                 [--frames N] [--why] [--ways NAME ...] [--end]

It needs an NVIDIA GPU, PyAV 17 or later and torch for CUDA; PyNvVideoCodec is compared with where
it is installed. The ways take turns in one process. Each line has the medians of the rounds, and
those of what samebytes has in a round over what the way has in it. samebytes has NVIDIA's driver
end its decoders in threads of their own; --end counts the time until they have ended. With --why
the ways are parts of what samebytes does, which show what several streams at once cost.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import torch
from av.codec.hwaccel import HWAccel

import samebytes as sb
import samebytes_ffmpeg

SIZES = {"1080p": (1920, 1080, 300), "4K": (3840, 2160, 120)}
SAME_CONTEXT: dict[str, object] = {"primary_ctx": "0", "current_ctx": "1"}


class Shim:
    """PyAV's planes refuse a stream, and torch passes one."""

    def __init__(self, plane: Any) -> None:
        self.plane = plane

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **_: Any) -> Any:
        return self.plane.__dlpack__()


def by_samebytes(path: str, stream: Any, **options: Any) -> Iterator[Any]:
    """samebytes, by its own words."""
    with samebytes_ffmpeg.open(path, hwaccel="cuda", queue=stream, **options) as video:
        for frame in video:
            yield torch.from_dlpack(frame[0])


def by_samebytes_mapped(path: str, stream: Any) -> Iterator[Any]:
    """samebytes, where each frame is mapped."""
    with samebytes_ffmpeg.open(path, hwaccel="cuda", queue=stream) as video:
        for frame in video:
            yield torch.from_dlpack(frame.map("cuda", queue=stream)[0])


def by_samebytes_and_events(path: str, stream: Any) -> Iterator[Any]:
    """samebytes, where each frame is mapped and FFmpeg has a stream of its own."""
    with samebytes_ffmpeg.open(path, hwaccel="cuda") as video:
        for frame in video:
            yield torch.from_dlpack(frame.map("cuda", queue=stream)[0])


def by_samebytes_dropping(path: str, stream: Any) -> Iterator[Any]:
    """samebytes, where each frame is dropped before the next one is there."""
    with samebytes_ffmpeg.open(path, hwaccel="cuda") as video:
        # Unlike a loop, map() holds no frame while it waits for the next one.
        yield from map(  # noqa: C417 - the name of a loop would hold it
            lambda frame: torch.from_dlpack(frame.map("cuda", queue=stream)[0]), video
        )


def by_hand(path: str, stream: Any, *, unsafe: bool = False, back: bool = False) -> Iterator[Any]:
    """PyAV, as the facts of its makers have it.

    Args:
        path: the clip.
        stream: of torch.
        unsafe: have no copy of each frame.
        back: FFmpeg's stream waits for the caller's too, before it uses memory again.
    """
    hwaccel = HWAccel("cuda", allow_software_fallback=False, options=SAME_CONTEXT, is_hw_owned=True)
    with av.open(path, hwaccel=hwaccel) as container:
        video = container.streams.video[0]
        if unsafe:
            video.codec_context.options = {"hwaccel_flags": "+unsafe_output"}
        for frame in container.decode(video):
            if stream is not None:
                stream.wait_stream(torch.cuda.default_stream())
            yield torch.from_dlpack(Shim(frame.planes[0]))
            if back and stream is not None:
                torch.cuda.default_stream().wait_stream(stream)


_replaced: dict[str, Any] = {}


def without_the_wait_back(path: str, stream: Any) -> Iterator[Any]:
    """samebytes, where FFmpeg's stream does not wait for the caller's."""
    uses: Any = importlib.import_module("samebytes_cuda._visiting").Uses
    settle = _replaced.setdefault("settle", uses.settle)  # by the first thread
    uses.settle = lambda self, *, ends=False: self.keep.clear() if ends else None
    try:
        yield from by_samebytes_and_events(path, stream)
    finally:
        uses.settle = settle


def decoded_alone(path: str, _stream: Any) -> Iterator[Any]:
    """The frames of samebytes, whose memory nobody reads."""
    nothing = torch.zeros((16, 16), dtype=torch.uint8, device="cuda")
    with samebytes_ffmpeg.open(path, hwaccel="cuda") as video:
        for _ in video:
            yield nothing


def decoded_alone_by_hand(path: str, _stream: Any) -> Iterator[Any]:
    """The frames of PyAV, whose memory nobody reads."""
    nothing = torch.zeros((16, 16), dtype=torch.uint8, device="cuda")
    hwaccel = HWAccel("cuda", allow_software_fallback=False, options=SAME_CONTEXT, is_hw_owned=True)
    with av.open(path, hwaccel=hwaccel) as container:
        for _ in container.decode(video=0):
            yield nothing


def by_nvidia(path: str, stream: Any) -> Iterator[Any]:
    """PyNvVideoCodec's demuxer and decoder."""
    PyNvVideoCodec = importlib.import_module("PyNvVideoCodec")  # noqa: N806 - its own name

    demuxer = PyNvVideoCodec.CreateDemuxer(filename=path)
    decoder = PyNvVideoCodec.CreateDecoder(
        gpuid=0, codec=demuxer.GetNvCodecId(), cudacontext=0,
        cudastream=0 if stream is None else stream.cuda_stream, usedevicememory=True,
    )  # fmt: skip
    for packet in demuxer:
        for frame in decoder.Decode(packet):
            whole = torch.from_dlpack(frame)
            yield whole[: whole.shape[0] * 2 // 3]


def by_upload(path: str, _stream: Any) -> Iterator[Any]:
    """NVDEC, downloaded and uploaded again."""
    with av.open(path, hwaccel=HWAccel("cuda", options=SAME_CONTEXT)) as container:
        for frame in container.decode(video=0):
            height = frame.height
            yield torch.from_numpy(frame.to_ndarray()[:height]).cuda()


def by_software(path: str, _stream: Any) -> Iterator[Any]:
    """Decoded in software, uploaded."""
    with samebytes_ffmpeg.open(path) as video:
        for frame in video:
            yield torch.from_dlpack(frame.map("cpu")[0]).cuda()


WAYS: dict[str, Callable[[str, Any], Iterator[Any]]] = {
    "samebytes": by_samebytes,
    "samebytes, unsafe_output": lambda path, stream: by_samebytes(
        path, stream, unsafe_output=True, extra_hw_frames=8
    ),
    "PyAV by hand": by_hand,
    "PyAV by hand, unsafe_output": lambda path, stream: by_hand(path, stream, unsafe=True),
    "PyNvVideoCodec": by_nvidia,
    "NVDEC, download, upload": by_upload,
    "software, upload": by_software,
}
PARTS: dict[str, Callable[[str, Any], Iterator[Any]]] = {
    "samebytes": by_samebytes,
    "samebytes, mapped": by_samebytes_mapped,
    "samebytes, a stream of FFmpeg's": by_samebytes_and_events,
    "samebytes, no frame is kept": by_samebytes_dropping,
    "samebytes, FFmpeg waits for nobody": without_the_wait_back,
    "samebytes, frames alone": decoded_alone,
    "PyAV by hand": by_hand,
    "PyAV by hand, FFmpeg waits too": lambda path, stream: by_hand(path, stream, back=True),
    "PyAV, frames alone": decoded_alone_by_hand,
}


def consume(planes: Iterator[Any], stream: Any, kernel: Any) -> tuple[int, float, float]:
    """Frames, a number that all ways agree on, and frames a second from the first one on."""
    count, total = 0, torch.zeros((), device="cuda", dtype=torch.float64)
    first = last = 0.0
    with nullcontext() if stream is None else torch.cuda.stream(stream):
        for plane in planes:
            x = plane[None, None].half() / 255
            total += torch.nn.functional.conv2d(x, kernel).mean(dtype=torch.float32)
            count += 1
            last = time.perf_counter()
            first = first or last
    (stream or torch.cuda.current_stream()).synchronize()
    return count, float(total), (count - 1) / (last - first) if count > 1 else 0.0


def measured(
    way: str, path: str, streams: int, kernel: Any, end: bool = False
) -> tuple[float, float, float, float]:
    """Frames a second in all, milliseconds of the CPU a frame, the number, and the sum of what
    each stream has a second from its first frame on.

    Args:
        way: one of WAYS or PARTS.
        path: the clip.
        streams: how many read it at a time.
        kernel: of the convolution.
        end: count the time until all decoders have ended.
    """
    found: list[tuple[int, float, float]] = []

    def run(stream: Any) -> None:
        found.append(consume({**WAYS, **PARTS}[way](path, stream), stream, kernel))

    begin, cpu = time.perf_counter(), time.process_time()
    if streams == 1:
        run(None)
    else:
        threads = [
            threading.Thread(target=run, args=(torch.cuda.Stream(),)) for _ in range(streams)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    took, cpu = time.perf_counter() - begin, time.process_time() - cpu
    for thread in threading.enumerate():
        # NVIDIA's driver ends decoders of samebytes for a while yet, which is not the next way's.
        if thread.name == "samebytes-end-of-decoder":
            thread.join()
    if end:
        took = time.perf_counter() - begin
    frames, opened = (sum(stream[part] for stream in found) for part in (0, 2))
    return frames / took, cpu * 1e3 / max(frames, 1), found[0][1] if found else 0.0, opened


def write(path: Path, width: int, height: int, frames: int) -> None:
    """A clip of H.264, veryfast."""
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("libx264", rate=30, options={"preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        noise = np.random.default_rng(1).integers(0, 40, (height, width), np.uint8)
        for number in range(frames):
            frame = av.VideoFrame(width, height, "yuv420p")
            luma, *chroma = sb.frame(frame).map("cpu", "rw").native
            luma[...] = np.roll(noise, 3 * number, 1) + (np.arange(width) // 16 + number) % 128
            for plane in chroma:
                plane[...] = 100 + number % 50
            frame.pts, frame.time_base = number, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def main() -> None:
    """Print a line for each way, size and number of streams."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--streams", nargs="+", type=int, default=[1, 4, 8])
    parser.add_argument("--frames", type=int, help="of each clip; 300 of 1080p, 120 of 4K")
    parser.add_argument("--why", action="store_true", help="what samebytes does, part by part")
    parser.add_argument("--ways", nargs="+", metavar="NAME", help="these alone, beside samebytes")
    parser.add_argument("--end", action="store_true", help="count the end of the decoders")
    parser.add_argument("--seconds", type=float, default=600, help="what all of it may take")
    options = parser.parse_args()
    begun = time.monotonic()
    print(torch.cuda.get_device_name(), "PyAV", av.__version__, "torch", torch.__version__)
    kernel = torch.randn(
        8, 1, 3, 3, device="cuda", generator=torch.Generator("cuda").manual_seed(1)
    )
    kernel = kernel.half()
    ways = list(PARTS if options.why else WAYS)
    if options.ways:
        ways = [way for way in {**WAYS, **PARTS} if way in ("samebytes", *options.ways)]
    parts = [(size, streams) for size in options.sizes for streams in options.streams]
    with tempfile.TemporaryDirectory() as folder:
        for number, (size, streams) in enumerate(parts, 1):
            path = Path(folder) / f"{size}.mp4"
            if not path.exists():
                width, height, frames = SIZES[size]
                write(path, width, height, options.frames or frames)
            until = begun + options.seconds * number / len(parts)
            compare(ways, size, str(path), streams, options.rounds, kernel, until, options.end)


def compare(
    ways: Iterable[str], size: str, path: str, streams: int, rounds: int, kernel: Any,
    until: float, end: bool,
) -> None:  # fmt: skip
    """Measure the ways in turns."""
    results: list[dict[str, tuple[float, float, float, float]]] = []
    failed: set[str] = set()
    for round_ in range(-1, rounds):  # the first one warms up
        results.append({})
        for way in ways:
            if time.monotonic() > until or way in failed:
                continue
            try:
                results[-1][way] = measured(way, path, streams, kernel, end)
            except Exception as error:
                print(f"{size}, {streams} streams, {way}: {type(error).__name__}: {error}")
                failed.add(way)
        if round_ < 0:
            warm = results.pop()
    results = [found for found in results if len(found) == len(warm)] or [warm]
    print(f"{size}, {streams} streams, {len(results)} rounds of {', '.join(warm)}", flush=True)
    for way in warm:
        rates = sorted(found[way][0] for found in results)
        ratio = statistics.median(found["samebytes"][0] / found[way][0] for found in results)
        cpu = statistics.median(found["samebytes"][1] / found[way][1] for found in results)
        print(
            f"{size}, {streams} streams, {way}: {statistics.median(rates):.0f} frames/s "
            f"({rates[0]:.0f} to {rates[-1]:.0f}), once open "
            f"{statistics.median(found[way][3] for found in results):.0f}, "
            f"{statistics.median(found[way][1] for found in results):.2f} ms CPU a frame, "
            f"sum {results[0][way][2]:.3f}; samebytes has {ratio:.2f} of its frames/s and "
            f"{cpu:.2f} of its CPU",
            flush=True,
        )


if __name__ == "__main__":
    main()
