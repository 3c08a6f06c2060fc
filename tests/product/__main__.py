# SPDX-License-Identifier: Apache-2.0
"""`python3 -m tests.product`: every source with every model and writer, on software devices.

With axes only those cases of the list: `python3 -m tests.product --source file --model GPU`; with
one case that one:

    python3 -m tests.product "file / r / GPU / stretch / draw / ffmpeg / torch / 1"
"""

from __future__ import annotations

import argparse
import sys
import time

from .asking import Outcome, outcomes
from .cases import AXES, Case, every_triple, few
from .rules import known
from .table import PAGE, page


def main() -> int:
    """Run the cases that were asked for; 1 if one is not as it should be."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.product", description=__doc__)
    parser.add_argument("case", nargs="*", help="as it is printed")
    parser.add_argument("--few", action="store_true", help="every pair, not every triple")
    parser.add_argument("--seed", type=int, default=1, help="of the list of --few")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE}")
    for name, values in AXES.items():
        parser.add_argument(f"--{name}", choices=values)
    options = parser.parse_args()
    cases = [Case.of(text) for text in options.case]
    if not cases:
        cases = few(options.seed) if options.few else every_triple()
        chosen = {name: getattr(options, name) for name in AXES if getattr(options, name)}
        cases = [c for c in cases if chosen.items() <= c.values.items()]
    if options.write and cases != every_triple():
        parser.error("--write is for the whole list")
    began = time.monotonic()
    found = []
    for number, outcome in enumerate(outcomes(cases), 1):
        found.append(outcome)
        print(f"{number} of {len(cases)}: {_line(outcome)}", flush=True)
    wrong = [one for one in found if not one.as_known]
    failed = sum(bool(one.failed) for one in found)
    print(
        f"{len(found)} cases in {time.monotonic() - began:.0f} s: {failed} failed, "
        f"{len(wrong)} are not as they should be"
    )
    if options.write:
        PAGE.write_text(page(found))
    return 1 if wrong else 0


def _line(outcome: Outcome) -> str:
    if outcome.as_known:
        entry = known(outcome.case) if outcome.failed else None
        return f"{outcome.case}: {'as it should be' if entry is None else entry.why}"
    if not outcome.failed:
        return f"{outcome.case}: WORKS, although tests/product/rules.py says that it does not"
    return f"{outcome.case}: FAILED\n{outcome.failed}"


if __name__ == "__main__":
    sys.exit(main())
