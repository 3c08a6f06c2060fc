# SPDX-License-Identifier: Apache-2.0
"""Run the tests of contrib/cuda on the GPU of this machine, from wheels alone, and measure.

    python3 contrib/cuda/tools/on_gpu.py [FOLDER] [--seconds N] [--only STEP ...] [--video]

With --video it is NVDEC, and memory that OpenCL shares, instead of CUDA memory alone.

It needs Python 3.11 or later, NVIDIA's driver, and the wheels that `bundle.py` collected; no
network, no pip and no rights beyond this checkout. Packages that are installed are used where they
are there. What it finds is printed, and written to FOLDER after each step: report.txt, and the
output of the steps in a few more files, as far as each has come.

All of it takes no longer than N seconds, 560 by default. A step that hangs is ended, and those
after it still have their time; the last one, memcheck-rest or opencl, gets what is left.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
WHEELS = ROOT / "build" / "gpu" / "wheels"
SITE = ROOT / "build" / "gpu" / f"site-{sys.version_info.major}{sys.version_info.minor}"
TESTS = "contrib/cuda/tests"
LIBRARIES = f"{TESTS}/test_array_libraries.py"
ICD = ROOT / "build" / "gpu" / "icd"
"""Names NVIDIA's OpenCL to pyopencl's own loader."""
# What is used where the machine has it: these have parts that are compiled.
INSTALLED = {
    "numpy": "numpy",
    "cuda_bindings": "cuda.bindings",
    "cuda_pathfinder": "cuda.pathfinder",
}
ALL = 560.0
"""Seconds that all steps may take."""
ENDING = 10.0
"""Seconds that a step has to end by itself once it was interrupted."""


class Step(NamedTuple):
    """One command.

    Attributes:
        name: what the report calls it.
        command: what is run, in the root of the repository.
        file: the file that gets its output, with that of the steps that name the same.
        most: seconds that it may take.
        least: seconds that steps before it leave to it, of ALL.
        is_shown: the report has all of its output.
        is_optional: it does not count that there was no time for it, or not enough.
    """

    name: str
    command: list[str]
    file: str
    most: float
    least: float
    is_shown: bool = False
    is_optional: bool = False


def main() -> int:
    """Run every step; give 0 if all of them passed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "gpu" / "report")
    parser.add_argument("--seconds", type=float, default=ALL, help="what all of it may take")
    parser.add_argument("--only", nargs="+", default=[], metavar="STEP", help="these steps alone")
    parser.add_argument("--video", action="store_true", help="the steps about NVDEC and OpenCL")
    options = parser.parse_args()
    deadline = time.monotonic() + options.seconds
    scale = min(1, options.seconds / ALL)
    out: Path = options.folder
    out.mkdir(parents=True, exist_ok=True)
    lines = [f"Python {platform.python_version()}, {platform.platform()}", *unpack()]
    path = os.pathsep.join(filter(None, (str(SITE), os.environ.get("PYTHONPATH"))))
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
    }
    if options.video:
        environment["OCL_ICD_VENDORS"] = str(vendors())
    chosen = steps_of_video() if options.video else steps(lines)
    if options.only:
        chosen = [step for step in chosen if step.name in options.only]
    for file in {step.file for step in chosen}:
        (out / file).unlink(missing_ok=True)
    failed = 0
    for number, step in enumerate(chosen):
        later = sum(other.least for other in chosen[number + 1 :]) * scale
        seconds = min(step.most, deadline - time.monotonic() - later)
        found = run(step, environment, out / step.file, seconds - ENDING)
        failed += found.failed
        lines += found.lines
        print("\n".join(found.lines), flush=True)
        (out / "report.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 1 if failed else 0


def steps(lines: list[str]) -> list[Step]:
    """The steps in the order of the run; `lines` gets a line for each that cannot run."""
    python = [sys.executable, "-X", "faulthandler"]
    pytest = [*python, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rsfE"]
    nvidia_smi = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv"]
    # The step "ordering" runs that.
    twice = f"{TESTS}/test_streams.py::test_the_tests_of_ordering_can_fail"
    tests = [TESTS, f"--ignore={LIBRARIES}", f"--deselect={twice}"]
    made = [
        Step("driver", nvidia_smi, "machine.txt", 30, 0),
        Step("doctor", [*python, "-m", "samebytes", "doctor"], "machine.txt", 40, 0),
        Step("tests", [*pytest, *tests], "tests.txt", 300, 180),
        # Apart, as a library that ends its process would end the other tests with it.
        Step("libraries", [*pytest, "-v", LIBRARIES], "libraries.txt", 120, 60),
        Step("ordering", [*python, "contrib/cuda/tools/without_events.py"],
             "figures.txt", 90, 40, is_shown=True),
        Step("waits", [*python, "contrib/cuda/tools/waits.py"],
             "figures.txt", 60, 30, is_shown=True),
        Step("bench", [*python, "contrib/cuda/tools/bench.py"],
             "figures.txt", 60, 40, is_shown=True),
    ]  # fmt: skip
    sanitizer = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin"
    )
    if not sanitizer:
        lines.append("memcheck: there is no compute-sanitizer on this machine")
        return made
    memcheck = [sanitizer, "--tool", "memcheck", "--error-exitcode", "9",
                "--report-api-errors", "no", *pytest, "-m", "not slow"]  # fmt: skip
    first = [f"{TESTS}/test_{name}.py" for name in ("streams", "memory", "contexts")]
    files = ("bounds", "dma_edges", "registered_pages", "second_device")
    rest = [f"{TESTS}/test_{name}.py" for name in files]
    suites = [f"{TESTS}/test_conformance.py::Test{name}" for name in
              ("DeviceTensor", "DeviceToCpu", "PagesToCuda", "CudaToDma")]  # fmt: skip
    return [
        *made,
        Step("memcheck", [*memcheck, *first], "memcheck.txt", 150, 80),
        Step("memcheck-rest", [*memcheck, *rest, *suites], "memcheck-rest.txt", 600, 0,
             is_optional=True),
    ]  # fmt: skip


def steps_of_video() -> list[Step]:
    """The steps of --video, in their order: the most important ones come first."""
    python = [sys.executable, "-X", "faulthandler"]
    pytest = [*python, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rsfE"]
    nvidia_smi = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv"]
    ffmpeg = "backends/ffmpeg/tests"
    tests = [
        f"{ffmpeg}/test_nvdec.py",
        f"{ffmpeg}/test_cuda_frames.py",
        f"{ffmpeg}/test_cuda_frame_streams.py",
        f"{TESTS}/test_visiting.py",
    ]

    def measuring(name: str, program: str, most: float, least: float) -> Step:
        module, *values = program.split()
        return Step(name, [*python, "-m", f"tests.bench.{module}", *values], "figures.txt", most,
                    least, is_shown=True)  # fmt: skip

    return [
        Step("driver", nvidia_smi, "machine.txt", 20, 0, is_shown=True),
        Step("doctor", [*python, "-m", "samebytes", "doctor"], "machine.txt", 40, 0),
        measuring("bits", "nvdec_bits", 90, 50),
        measuring("one stream", "nvdec --streams 1 --rounds 5 --seconds 95", 110, 90),
        measuring("streams", "nvdec --sizes 1080p --streams 4 8 --rounds 3 --seconds 85",
                  120, 80),
        measuring("ends", "nvdec --sizes 1080p --streams 4 8 --rounds 3 --end --seconds 45 "
                  "--ways PyNvVideoCodec", 60, 40),
        measuring("why", "nvdec --sizes 1080p --streams 4 --rounds 2 --why --seconds 35",
                  45, 30),
        measuring("flat", "nvdec_flat --seconds 56", 70, 50),
        measuring("shared", "cuda_to_opencl", 30, 15),
        Step("tests", [*pytest, *tests], "tests.txt", 120, 60),
        Step("opencl", [*pytest, "backends/gpu_opencl/tests"], "opencl.txt", 300, 0,
             is_optional=True),
    ]  # fmt: skip


def vendors() -> Path:
    """A folder that names NVIDIA's OpenCL, and no other."""
    ICD.mkdir(parents=True, exist_ok=True)
    (ICD / "nvidia.icd").write_text("libnvidia-opencl.so.1\n", encoding="utf-8")
    return ICD


class Found(NamedTuple):
    """The result of a step.

    Attributes:
        failed: it counts as a failure.
        lines: what the report says of it.
    """

    failed: bool
    lines: list[str]


def run(step: Step, environment: dict[str, str], log: Path, seconds: float) -> Found:
    """Run a step with its output in a file, for so many seconds."""
    if seconds < 1:
        return Found(not step.is_optional, [f"{step.name}: not run: there was no time left"])
    begun = time.monotonic()
    with log.open("a", encoding="utf-8") as file:
        file.write(f"==== {step.name}: {' '.join(step.command)}\n")
        file.flush()
        begin = file.tell()
        status = ended(step.command, environment, file.fileno(), seconds)
    took = time.monotonic() - begun
    output = log.read_bytes()[begin:].decode("utf-8", "replace").strip()
    cut = status is None
    word = "ok" if status == 0 else f"ended after {seconds:.0f} s" if cut else f"status {status}"
    lines = [f"{step.name}: {word}, {took:.0f} s: {summary(output)}"]
    lines += [f"  {line}" for line in output.splitlines() if re.match(r"(FAILED|ERROR) ", line)]
    if step.is_shown:
        lines.append(output)
    return Found(status != 0 and not (cut and step.is_optional), lines)


def ended(
    command: list[str], environment: dict[str, str], output: int, seconds: float
) -> int | str | None:
    """The exit status of a command, or why there is none; None if it was ended for its time."""
    try:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, process_group=0,
        )  # fmt: skip
    except OSError as error:
        return str(error)
    status: int | None = None
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDING)
    finally:
        # With what it started: a process left behind would go on using the GPU.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return status


def summary(output: str) -> str:
    """The last line, and what pytest counted, if that is another one."""
    lines = output.splitlines() or [""]
    counted = [line for line in lines if re.search(r"\d+ (passed|failed|error)", line)]
    return "; ".join(dict.fromkeys([*counted[-1:], lines[-1]]))


def unpack() -> list[str]:
    """Put the wheels where Python finds them, save those whose packages are installed."""
    shutil.rmtree(SITE, ignore_errors=True)
    SITE.mkdir(parents=True)
    lines = []
    for wheel in sorted(WHEELS.glob("*.whl")):
        name, version, *_, python, abi, _ = wheel.stem.split("-")
        module = INSTALLED.get(name)
        if module and is_installed(module):
            lines.append(f"{name}: the installed one is used")
            continue
        here = f"cp{sys.version_info.major}{sys.version_info.minor}"
        if not (python in (here, "py3") or "py3" in python.split(".") or abi == "abi3"):
            continue
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(SITE)
        lines.append(f"{name} {version}: from the bundle")
    return lines


def is_installed(module: str) -> bool:
    """True if a module can be imported without the bundle."""
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


if __name__ == "__main__":
    sys.exit(main())
