# SPDX-License-Identifier: Apache-2.0
"""The results of the parts of a run, and the table that shows them."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import Signals


@dataclass(frozen=True)
class Result:
    """The result of one part; a part that could not be run here is neither good nor bad."""

    name: str
    ok: bool
    summary: str
    ran: bool = True

    def __str__(self) -> str:
        word = "not run" if not self.ran else "ok     " if self.ok else "FAILED "
        return f"{word} {self.name}: {self.summary}"


def not_run(name: str, reason: str) -> Result:
    """A part that this machine cannot run."""
    return Result(name, True, reason, ran=False)


def table(results: Sequence[Result], seconds: float) -> str:
    """All results, what did not run last, where it is seen."""
    ordered = sorted(results, key=lambda result: not result.ran)
    return "\n".join([*map(str, ordered), f"{seconds:.0f} s in all"])


def summary(report: Path, status: int) -> str:
    """One line about the JUnit report of a pytest run that ended with `status`."""
    if not report.exists():
        if status < 0:
            name = Signals(-status).name
            return f"pytest was ended by {name}: the stacks of its threads are in its output"
        return f"pytest ended with {status} without a report: its output says where it was"
    root = ET.parse(report).getroot()
    suites = list(root.iter("testsuite"))
    count = {
        key: sum(int(suite.get(key, 0)) for suite in suites)
        for key in ("tests", "failures", "errors", "skipped")
    }
    failed = count["failures"] + count["errors"]
    passed = count["tests"] - failed - count["skipped"]
    seconds = sum(float(suite.get("time", 0)) for suite in suites)
    text = f"{passed} passed, {failed} failed, {count['skipped']} skipped"
    return f"{text} in {seconds:.0f} s" if count["tests"] else "no tests were found"
