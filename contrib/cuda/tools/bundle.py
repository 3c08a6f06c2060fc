# SPDX-License-Identifier: Apache-2.0
"""Collect what the tests need on a machine with a GPU and without a network: `build/gpu/wheels`.

    python3 contrib/cuda/tools/bundle.py [--python 3.12 ...]

Run it in a checkout that is set up. `on_gpu.py` uses the result.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WHEELS = ROOT / "build" / "gpu" / "wheels"
OURS = ("sdk", "backends/dma", "contrib/cuda")
# torch is not among them: it is large, and machines with a GPU have it or do without.
NEEDED = ("pytest>=9,<10", "hypothesis>=6.100,<7")


def main() -> None:
    """Build our wheels and download the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", nargs="+", default=["3.12"], help="versions of Python there")
    versions = parser.parse_args().python
    shutil.rmtree(WHEELS, ignore_errors=True)
    WHEELS.mkdir(parents=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    folders = [f"./{folder}" for folder in OURS]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(WHEELS), *folders],
        cwd=ROOT,
        check=True,
    )
    # With what they depend on.
    ours = [str(path) for path in WHEELS.iterdir()]
    for version in versions:
        platforms = [f"--platform=manylinux_2_{n}_x86_64" for n in (17, 27, 28)]
        subprocess.run(
            [*pip, "download", "--only-binary=:all:", f"--python-version={version}", *platforms,
             "--platform=manylinux2014_x86_64", "--find-links", str(WHEELS), "-d", str(WHEELS),
             *ours, *NEEDED],
            check=True,
        )  # fmt: skip
    size = sum(path.stat().st_size for path in WHEELS.iterdir())
    print(f"{WHEELS.relative_to(ROOT)}: {len(list(WHEELS.iterdir()))} wheels, {size >> 20} MiB")


if __name__ == "__main__":
    main()
