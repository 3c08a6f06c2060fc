# SPDX-License-Identifier: Apache-2.0
"""Show that the tests of ordering fail where nothing orders the streams.

    python3 contrib/cuda/tools/without_events.py [--softdevices=cuda]

It runs the tests that are marked `ordering` as they are, and then without the events and waits of
samebytes and of the lender in the tests. Each line is a test: with and without. The status is 0 if
all of them pass with events, and none without; save where the driver itself waits, as NVIDIA's does
when it frees or unregisters memory.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests" / "test_streams.py"
WITHOUT = {"SAMEBYTES_TEST_WITHOUT_EVENTS": "1"}
# NVIDIA's driver waits in cuMemFree and cuMemHostUnregister, which it does not promise, and the
# software driver does so if it is asked to: there these may pass.
BY_DRIVER = frozenset(
    (
        "test_memory_lives_until_its_consumers_are_done",
        "test_registered_pages_are_given_back_when_the_device_is_done",
    )
)


def main() -> int:
    """Print a line for each test; give 0 if the tests can fail."""
    options = sys.argv[1:]
    with_events, without = results(options, {}), results(options, WITHOUT)
    software = any(option.startswith("--softdevices") for option in options)
    waits = not software or os.environ.get("SOFTCUDA_WAITS") == "1"
    failed = 0
    wrong = not with_events or set(with_events) != set(without)
    for name, found in with_events.items():
        other = without.get(name, "not run")
        for _ in range(3):  # a machine that is busy enough may be as late as the stream
            if other != "passed":
                break
            other = results(options, WITHOUT, f"::{name}").get(name, "not run")
        waited = waits and name.partition("[")[0] in BY_DRIVER
        good = found == "passed" and (other == "failed" or waited)
        wrong = wrong or not good
        note = "" if good else "  WRONG"
        if waited and other == "passed":
            note = "  (the driver waits where it frees memory)"
        print(f"{name}: {found} with events, {other} without{note}")
        failed += other == "failed"
    print(f"{len(with_events)} tests; {failed} fail without events")
    return 1 if wrong else 0


def results(options: list[str], environment: dict[str, str], chosen: str = "") -> dict[str, str]:
    """The outcome that pytest reports for each test of ordering."""
    command = [sys.executable, "-m", "pytest", "-v", "-m", "ordering", "-p", "no:cacheprovider",
               "--tb=no", *options, f"{TESTS}{chosen}"]  # fmt: skip
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    found: dict[str, str] = {}
    for name, word in re.findall(r"::(\S+) (PASSED|FAILED|ERROR|SKIPPED)", done.stdout):
        found.setdefault(name, word.lower())  # what comes after the test is its clearing up
    if not found:
        print(done.stdout + done.stderr, file=sys.stderr)
    # What a stream read after it was freed ends the context, and so the tests that come next.
    for name in [name for name, word in found.items() if word == "error" and not chosen]:
        found[name] = results(options, environment, f"::{name}").get(name, "error")
    return found


if __name__ == "__main__":
    sys.exit(main())
