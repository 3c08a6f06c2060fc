# SPDX-License-Identifier: Apache-2.0
"""Prints the report. It reports and never fails for being slow: machines are noisy.

The rows of the group "edges" are those of `samebytes bench`, on the software devices. The other
groups join several distributions, or start processes.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys

from .measure import print_rows

_DEVICES = ("--gpu", "--npu", "--vaapi", "--cuda")


def main() -> None:
    """Run the groups that were asked for."""
    groups = ("edges", "images", "elements", "rings", "startup", "demo")
    parser = argparse.ArgumentParser(prog="dev.py bench", description=__doc__)
    parser.add_argument("group", nargs="*", choices=[*groups, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="edges: less exact, one size each")
    parser.add_argument("--json", action="store_true", help="edges: print JSON, for `dev.py costs`")
    parser.add_argument(
        "--write", action="store_true", help="rings: write the table of docs/reference/ring.md"
    )
    options = parser.parse_args()
    chosen = options.group or (("edges",) if options.json else groups)
    if options.json and tuple(chosen) != ("edges",):
        parser.error("--json is for the group edges alone")
    if options.write and "rings" not in chosen:
        parser.error("--write is for the group rings")
    if not options.json:
        print(f"Python {platform.python_version()}, {platform.machine()}; a star: above its goal")
    if "edges" in chosen:
        # In a process of its own: a library that was loaded before would see no software device.
        software = [sys.executable, "-m", "samebytes_softdevices", "run", *_DEVICES, "--"]
        asked = [name for name in ("quick", "json") if getattr(options, name)]
        bench = [sys.executable, "-m", "samebytes", "bench", *(f"--{name}" for name in asked)]
        sys.stdout.flush()
        subprocess.run([*software, *bench], check=True)
    if "images" in chosen:
        from .images import image_rows

        print_rows("Models of images on decoded frames", image_rows())
    if "elements" in chosen:
        from .elements import element_rows

        print_rows("Pipelines: microseconds for each frame and element", element_rows())
    if "rings" in chosen:
        from .rings import PAGE, ring_rows, ring_table, with_table

        rows = ring_rows()
        print_rows("A frame to another process, in turns", rows)
        if options.write:
            PAGE.write_text(with_table(PAGE.read_text(), ring_table(rows)))
    if "startup" in chosen:
        from .startup import startup_rows

        print_rows("Starting", startup_rows())
    if "demo" in chosen:
        from .pipeline import pipeline_rows

        print_rows("The whole demo: decode, infer, draw, encode", pipeline_rows())


if __name__ == "__main__":
    main()
