# SPDX-License-Identifier: Apache-2.0
"""Prints the report. It reports and never fails for being slow: machines are noisy.

The rows of the group "edges" are all those of `samebytes bench`, on the software devices. The other
groups measure whole programs.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys

from .measure import print_rows

_DEVICES = ("--gpu", "--npu", "--vaapi", "--cuda")
# Seconds for the rows of one plugin, on a busy machine too.
_TIMEOUT = "1800"


def main() -> None:
    """Run the groups that were asked for."""
    groups = ("edges", "elements", "rings", "demo", "end-to-end", "rgb", "start")
    parser = argparse.ArgumentParser(prog="dev.py bench", description=__doc__)
    parser.add_argument("group", nargs="*", choices=[*groups, []], help="default: all")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="edges: less exact, one size each; end-to-end, rgb: fewer and shorter passes; start: "
        "fewer processes",
    )
    parser.add_argument("--json", action="store_true", help="edges: print JSON, for `dev.py costs`")
    parser.add_argument(
        "--repeat",
        type=int,
        metavar="N",
        help="demo: run `samebytes demo` N times in place of the benchmark, and see that its runs "
        "agree; 1 is the exit status if they do not",
    )
    parser.add_argument(
        "--write", action="store_true", help="rings: write the table of docs/reference/ring.md"
    )
    options = parser.parse_args()
    chosen = options.group or (("edges",) if options.json else groups)
    if options.json and tuple(chosen) != ("edges",):
        parser.error("--json is for the group edges alone")
    if options.repeat is not None:
        if tuple(chosen) != ("demo",) or options.repeat < 1:
            parser.error("--repeat is for the group demo alone, and at least 1")
        from .repeated_demo import run_demos

        sys.exit(run_demos(options.repeat))
    if options.write and "rings" not in chosen:
        parser.error("--write is for the group rings")
    if not options.json:
        print(f"Python {platform.python_version()}, {platform.machine()}; a star: above its goal")
    if "edges" in chosen:
        # In a process of its own: a library that was loaded before would see no software device.
        software = [sys.executable, "-m", "samebytes_softdevices", "run", *_DEVICES, "--"]
        asked = [name for name in ("quick", "json") if getattr(options, name)]
        bench = [sys.executable, "-m", "samebytes", "bench", "--timeout", _TIMEOUT]
        bench += [f"--{name}" for name in asked]
        sys.stdout.flush()
        subprocess.run([*software, *bench], check=True)
    if "elements" in chosen:
        from .elements import element_rows

        print_rows("Pipelines: microseconds for each frame and element", element_rows())
    if "rings" in chosen:
        from .rings import PAGE, ring_rows, ring_table, with_table

        rows = ring_rows()
        print_rows("A frame to another process, in turns", rows)
        if options.write:
            PAGE.write_text(with_table(PAGE.read_text(), ring_table(rows)))
        from .ring_rivals import calls_of_the_reader, calls_of_the_writer, rival_rows

        print_rows("The ring beside iceoryx2 and shared memory by hand, in turns", rival_rows())
        for side, steps in (("writer", calls_of_the_writer()), ("reader", calls_of_the_reader())):
            said = ", ".join(f"{calls} in {step}" for step, calls in steps.items())
            print(f"Calls of functions in the {side} for a frame: {sum(steps.values())}: {said}")
    if "demo" in chosen:
        from .pipeline import pipeline_rows

        print_rows("The whole demo: decode, infer, draw, encode", pipeline_rows())
    if "end-to-end" in chosen:
        from .end_to_end import end_to_end

        if not end_to_end(options.quick):
            sys.exit("results differ that must be equal")
    if "start" in chosen:
        from .first_result import first_result_rows

        rows = first_result_rows(options.quick)
        print_rows("From the start of a process to the first result of a model", rows)
    if "rgb" in chosen:
        from .rgb_passes import rgb_passes

        if not rgb_passes(options.quick):
            sys.exit("pixels differ that must be equal")


if __name__ == "__main__":
    main()
