# SPDX-License-Identifier: Apache-2.0
"""Prints the report. It reports and never fails for being slow: machines are noisy."""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys

from .measure import print_rows


def main() -> None:
    """Run the groups that were asked for."""
    groups = ("tensors", "frames", "images", "elements", "startup", "devices", "demo")
    parser = argparse.ArgumentParser(prog="dev.py bench", description=__doc__)
    parser.add_argument("group", nargs="*", choices=[*groups, []], help="default: all")
    chosen = parser.parse_args().group or groups
    print(f"Python {platform.python_version()}, {platform.machine()}; a star: above its target")
    if "tensors" in chosen:
        from .maps import tensor_rows

        print_rows("Tensors", tensor_rows())
    if "frames" in chosen:
        from .maps import frame_rows

        print_rows("Frames", frame_rows())
    if "images" in chosen:
        from .images import image_rows

        print_rows("Models of images on decoded frames", image_rows())
    if "elements" in chosen:
        from .elements import element_rows

        print_rows("Pipelines: microseconds for each frame and element", element_rows())
    if "startup" in chosen:
        from .startup import startup_rows

        print_rows("Starting", startup_rows())
    if "devices" in chosen:
        # In a process of its own: a library that was loaded before would see no software device.
        software = [sys.executable, "-m", "samebytes_softdevices", "run", "--gpu", "--vaapi", "--"]
        here = [sys.executable, "-m", "tests.bench.devices"]
        sys.stdout.flush()
        subprocess.run([*software, *here], check=True)
    if "demo" in chosen:
        from .pipeline import pipeline_rows

        print_rows("The whole demo: decode, infer, draw, encode", pipeline_rows())


if __name__ == "__main__":
    main()
