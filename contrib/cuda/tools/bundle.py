# SPDX-License-Identifier: Apache-2.0
"""Collect what the tests need on a machine with a GPU and without a network: `build/gpu/wheels`.

    python3 contrib/cuda/tools/bundle.py [--python 3.12 ...] [--video]

Run it in a checkout that is set up. `on_gpu.py` uses the result.

With --video it is what `on_gpu.py --video` needs, for one version of Python: PyAV, PyNvVideoCodec
and pyopencl too, but neither numpy nor cuda-bindings, which must be there. It has 50 MB.
Clips that PyAV cannot encode come along in `build/gpu/clips`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WHEELS = ROOT / "build" / "gpu" / "wheels"
OURS = ("sdk", "backends/dma", "contrib/cuda")
# torch is not among them: it is large, and machines with a GPU have it or do without.
NEEDED = ("pytest>=9,<10", "hypothesis>=6.100,<7")
OURS_OF_VIDEO = (*OURS, "backends/ffmpeg", "backends/gpu_opencl")
# With what they need, one by one, so that nothing large comes along.
NEEDED_OF_VIDEO = (
    *NEEDED, "iniconfig", "packaging", "pluggy", "pygments", "sortedcontainers",
    "av>=18,<19", "pynvvideocodec", "pyopencl", "platformdirs", "pytools", "siphash24",
    "typing_extensions",
)  # fmt: skip
UNUSED = ("samples/", "benchmarks/", ".data/")
"""Half of PyNvVideoCodec: notebooks, and the source of FFmpeg."""
CLIPS = ROOT / "build" / "gpu" / "clips"
"""Clips that PyAV's wheel cannot encode."""
SIZES = {"1080p": "1920x1080", "4K": "3840x2160"}


def main() -> None:
    """Build our wheels and download the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", nargs="+", default=["3.12"], help="versions of Python there")
    parser.add_argument("--video", action="store_true", help="for on_gpu.py --video")
    options = parser.parse_args()
    shutil.rmtree(WHEELS, ignore_errors=True)
    WHEELS.mkdir(parents=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    folders = [f"./{folder}" for folder in (OURS_OF_VIDEO if options.video else OURS)]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(WHEELS), *folders],
        cwd=ROOT,
        check=True,
    )
    if options.video:
        wanted = ["--no-deps", *NEEDED_OF_VIDEO]
    else:  # with what they depend on
        wanted = [*(str(path) for path in WHEELS.iterdir()), *NEEDED]
    for version in options.python:
        platforms = [f"--platform=manylinux_2_{n}_x86_64" for n in (17, 27, 28)]
        subprocess.run(
            [*pip, "download", "--only-binary=:all:", f"--python-version={version}", *platforms,
             "--platform=manylinux2014_x86_64", "--find-links", str(WHEELS), "-d", str(WHEELS),
             *wanted],
            check=True,
        )  # fmt: skip
    if options.video:
        for path in WHEELS.glob("pynvvideocodec-*.whl"):
            leave_out(path, UNUSED)
        encode_clips()
    size = sum(path.stat().st_size for path in WHEELS.iterdir())
    print(f"{WHEELS.relative_to(ROOT)}: {len(list(WHEELS.iterdir()))} wheels, {size >> 20} MiB")


def encode_clips() -> None:
    """Have the system's FFmpeg encode VP9 of 10 bits, where there is one."""
    program = shutil.which("ffmpeg")
    if program is None:
        print("there is no FFmpeg here, and so no clip of VP9 of 10 bits")
        return
    CLIPS.mkdir(parents=True, exist_ok=True)
    for name, size in SIZES.items():
        subprocess.run(
            [program, "-loglevel", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=s={size}:r=30",
             "-frames:v", "12", "-pix_fmt", "yuv420p10le", "-c:v", "libvpx-vp9", "-profile:v", "2",
             "-deadline", "realtime", "-cpu-used", "8", str(CLIPS / f"VP9-10-{name}.webm")],
            check=True,
        )  # fmt: skip


def leave_out(wheel: Path, parts: tuple[str, ...]) -> None:
    """Write a wheel again without the files whose paths have one of the parts."""
    smaller = wheel.with_suffix(".new")
    with (
        zipfile.ZipFile(wheel) as old,
        zipfile.ZipFile(smaller, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for entry in old.infolist():
            if not any(part in entry.filename for part in parts):
                new.writestr(entry, old.read(entry))
    smaller.replace(wheel)


if __name__ == "__main__":
    main()
