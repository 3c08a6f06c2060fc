# SPDX-License-Identifier: Apache-2.0
"""Run the tests of contrib/cuda on the GPU of this machine, from wheels alone, and measure.

    python3 contrib/cuda/tools/on_gpu.py [FOLDER]

It needs Python 3.11 or later, NVIDIA's driver, and the wheels that `bundle.py` collected; no
network, no pip and no rights beyond this checkout. Packages that are installed are used where they
are there. What it finds is printed, and written to FOLDER: report.txt and the output of each step.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WHEELS = ROOT / "build" / "gpu" / "wheels"
SITE = ROOT / "build" / "gpu" / f"site-{sys.version_info.major}{sys.version_info.minor}"
TESTS = "contrib/cuda/tests"
# What is used where the machine has it: these have parts that are compiled.
INSTALLED = {
    "numpy": "numpy",
    "cuda_bindings": "cuda.bindings",
    "cuda_pathfinder": "cuda.pathfinder",
}


def main() -> int:
    """Run every step; give 0 if all of them passed."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "gpu" / "report")
    out.mkdir(parents=True, exist_ok=True)
    lines = [f"Python {platform.python_version()}, {platform.platform()}"]
    lines += unpack()
    environment = {**os.environ, "PYTHONPATH": str(SITE), "PYTHONDONTWRITEBYTECODE": "1"}
    python = [sys.executable, "-X", "faulthandler"]
    pytest = [*python, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs"]
    bench = [*python, "contrib/cuda/tools/bench.py"]
    steps: dict[str, list[str]] = {
        "driver": ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv"],
        "doctor": [*python, "-m", "samebytes", "doctor"],
        "waits": [*python, "contrib/cuda/tools/waits.py"],
        "tests": [*pytest, TESTS],
        "ordering": [*python, "contrib/cuda/tools/without_events.py"],
        "bench": bench,
    }
    sanitizer = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin"
    )
    if sanitizer:
        steps["memcheck"] = [sanitizer, "--tool", "memcheck", "--error-exitcode", "9",
                             "--report-api-errors", "no", *pytest, f"{TESTS}/test_streams.py",
                             f"{TESTS}/test_memory.py", "-m", "not slow"]  # fmt: skip
    else:
        lines.append("memcheck: there is no compute-sanitizer on this machine")
    failed = 0
    for name, command in steps.items():
        limit = 60 if name == "waits" else 540
        status, last = step(command, environment, out / f"{name}.txt", limit)
        failed += status != 0
        lines.append(f"{name}: {'ok' if status == 0 else f'status {status}'}: {last}")
        print(lines[-1], flush=True)
        if name in ("bench", "ordering", "waits"):
            lines.append((out / f"{name}.txt").read_text(encoding="utf-8"))
    (out / "report.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 1 if failed else 0


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
    """Whether a module can be imported without the bundle."""
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def step(
    command: list[str], environment: dict[str, str], log: Path, limit: float
) -> tuple[int, str]:
    """Run a command with its output in a file, for so many seconds; its status and last line."""
    with log.open("w", encoding="utf-8") as file:
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT,
                timeout=limit, check=False,
            )  # fmt: skip
            status = done.returncode
        except OSError as error:
            file.write(f"{error}\n")
            status = 127
        except subprocess.TimeoutExpired:
            status = 124
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return status, lines[-1] if lines else ""


if __name__ == "__main__":
    sys.exit(main())
