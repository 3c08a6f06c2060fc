# SPDX-License-Identifier: Apache-2.0
"""Whole passes over a video whose frames become tensors of RGB: ours beside PyAV's own conversion.

python -m tests.bench.rgb_passes WAY CLIP WIDTH HEIGHT

makes a pass for each line on its input, in which one thread decodes, and prints a line of JSON: CPU
and wall time of all frames, and a sum of their bytes. Each way has its own process, since PyAV's
frames are new memory each time, whose cost depends on what else a process has allocated.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

__all__ = ["rgb_passes"]

_OURS = "frame.convert"
# Of the video, and of the tensors.
_SIZES = (
    ((1280, 720), (1280, 720)),
    ((1920, 1080), (1920, 1080)),
    ((3840, 2160), (3840, 2160)),
    ((1280, 720), (224, 224)),
    ((1920, 1080), (224, 224)),
)

Pass = Callable[[str, int, int], Iterator[Any]]


def rgb_passes(quick: bool) -> bool:
    """Print a table for each size.

    Args:
        quick: fewer and shorter passes.

    Returns:
        True if all ways gave the same bytes.
    """
    from .end_to_end import Case, make_clip

    equal = True
    rounds, frames = (3, 20) if quick else (11, 60)
    for (width, height), target in _SIZES:
        with tempfile.TemporaryDirectory() as folder:
            clip = Path(folder) / "clip.mp4"
            make_clip(clip, frames if width < 3840 else frames // 3, Case(width, height))
            passes = _measured(clip, target, rounds)
        equal &= len({said["sum"] for way in passes.values() for said in way}) == 1
        print(f"\nA video of {width}x{height} to tensors of RGB, {target[0]}x{target[1]}:", end=" ")
        print(f"ms for each frame, medians of {rounds} passes, and ours over theirs, pass by pass")
        for name, said in passes.items():
            line = f"  {name:28}"
            for what in ("cpu", "wall"):
                own = [one[what] for one in said]
                ours = [one[what] for one in passes[_OURS]]
                ratio = statistics.median(a / b for a, b in zip(ours, own, strict=True))
                line += f"  {what} {statistics.median(own):6.2f} ({ratio:4.2f})"
            print(line)
    return equal


def _measured(
    clip: Path, target: tuple[int, int], rounds: int
) -> dict[str, list[dict[str, float]]]:
    """All ways in turns; the first pass of each warms it."""
    passes: dict[str, list[dict[str, float]]] = {name: [] for name in _WAYS}
    with ExitStack() as stack:
        processes = {}
        for name in _WAYS:
            command = [sys.executable, "-m", "tests.bench.rgb_passes", name, str(clip)]
            process = subprocess.Popen(
                [*command, *map(str, target)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            processes[name] = stack.enter_context(process)
        for number in range(rounds + 1):
            for name, process in processes.items():
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write("\n")
                process.stdin.flush()
                said = json.loads(process.stdout.readline())
                if number:
                    passes[name].append(said)
    return passes


def _decoded(clip: str) -> Iterator[Any]:
    import av

    with av.open(clip) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        yield from container.decode(stream)


def _ours(clip: str, width: int, height: int) -> Iterator[Any]:
    import torch

    import samebytes as sb

    for frame in _decoded(clip):
        yield torch.from_dlpack(sb.frame(frame).convert("RGB24", width, height)[0])


def _reformatter(clip: str, width: int, height: int, **threads: int) -> Iterator[Any]:
    import torch
    from av.video.reformatter import VideoReformatter

    kept = VideoReformatter()
    for frame in _decoded(clip):
        made = kept.reformat(frame, width, height, "rgb24", **threads)
        yield torch.from_numpy(made.to_ndarray())


def _to_ndarray(clip: str, width: int, height: int) -> Iterator[Any]:
    import torch

    for frame in _decoded(clip):
        yield torch.from_numpy(frame.to_ndarray(width=width, height=height, format="rgb24"))


_WAYS: dict[str, Pass] = {
    _OURS: _ours,
    "VideoReformatter, kept": _reformatter,
    "the same, threads=1": partial(_reformatter, threads=1),
    "to_ndarray": _to_ndarray,
}


def _main() -> None:
    """Make a pass for each line."""
    way, clip, width, height = _WAYS[sys.argv[1]], sys.argv[2], *map(int, sys.argv[3:])
    total = sum(zlib.crc32(tensor.numpy()) for tensor in way(clip, width, height))
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        frames = 0
        for _tensor in way(clip, width, height):
            frames += 1
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        said = {"cpu": 1000 * cpu / frames, "wall": 1000 * wall / frames, "sum": total}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    _main()
