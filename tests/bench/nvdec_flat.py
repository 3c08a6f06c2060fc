# SPDX-License-Identifier: Apache-2.0
"""Decode many frames by NVDEC to torch, and look at memory and descriptors on the way.

    python3 -m tests.bench.nvdec_flat [--frames N] [--seconds N]

It needs an NVIDIA GPU, PyAV 17 or later and torch for CUDA. A line is a look: the frames so far,
the memory of the process and of the device, descriptors, and threads.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
from pathlib import Path

import torch

import samebytes_ffmpeg

from .nvdec import write

_PAGE = os.sysconf("SC_PAGE_SIZE")


def look(frames: int) -> tuple[int, int, int]:
    """Print a line; return the process's memory, that of the device in use, and descriptors."""
    gc.collect()
    torch.cuda.synchronize()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
    free, whole = torch.cuda.mem_get_info()
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    threads = len(list(Path("/proc/self/task").iterdir()))
    print(
        f"  {frames}: {resident >> 20} MiB of the process, {(whole - free) >> 20} MiB of the "
        f"device, {descriptors} descriptors, {threads} threads",
        flush=True,
    )
    return resident, whole - free, descriptors


def decode(path: Path, frames: int, until: float, *, unsafe_output: bool) -> None:
    """Decode a clip again and again, each frame to a tensor of torch."""
    print(f"{frames} frames, unsafe_output={unsafe_output}")
    first = last = (0, 0, 0)
    count = 0
    options = {"loop": True, "frames": frames, "unsafe_output": unsafe_output}
    with samebytes_ffmpeg.open(path, hwaccel="cuda", **options) as video:
        for count, frame in enumerate(video, 1):
            torch.from_dlpack(frame.map("cuda")[0]).sum()
            if count % (frames // 10) == 0:
                last = look(count)
                # What torch and the driver set up with the first frames is there to stay.
                first = first if count > frames // 10 else last
                if time.monotonic() > until:
                    break
    grown = [there - here for here, there in zip(first, last, strict=True)]
    print(
        f"  {count} frames in all: since the first look {grown[0] / 1e6:+.1f} MB of the process, "
        f"{grown[1] / 1e6:+.1f} MB of the device, {grown[2]:+d} descriptors",
        flush=True,
    )


def main() -> None:
    """Decode in both ways."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--frames", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=600, help="what all of it may take")
    options = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        write(path, 1280, 720, 250)
        for number, unsafe_output in enumerate((False, True), 1):
            until = begun + options.seconds * number / 2
            decode(path, options.frames, until, unsafe_output=unsafe_output)


if __name__ == "__main__":
    main()
