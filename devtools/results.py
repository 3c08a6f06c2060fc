# SPDX-License-Identifier: Apache-2.0
"""The results of the parts of a run, and the table that shows them."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import Signals


@dataclass(frozen=True)
class Result:
    """The result of one part; a part that could not run here has neither passed nor failed."""

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
    """All results; parts that did not run come last, where they are seen."""
    ordered = sorted(results, key=lambda result: not result.ran)
    return "\n".join([*map(str, ordered), f"{seconds:.0f} s in all"])


def summary(report: Path, status: int) -> str:
    """A line about the JUnit report of a pytest run that ended with `status`, and each failure."""
    if not report.exists():
        if status < 0:
            test = report.with_suffix(".running")  # of the plugin samebytes_strict
            place = f" in {test.read_text()}" if test.exists() else ""
            return f"pytest was ended by {Signals(-status).name}{place}: its output has the stacks"
        return f"pytest ended with {status} without a report: its output says where it was"
    root = ET.parse(report).getroot()
    cases = list(root.iter("testcase"))
    skipped = len(root.findall(".//testcase/skipped"))
    failed = [
        f"        {case.get('classname')}::{case.get('name')}: {mark.get('message', '')[:300]!r}"
        for case in cases
        for mark in (*case.findall("failure"), *case.findall("error"))
    ]
    seconds = sum(float(suite.get("time", 0)) for suite in root.iter("testsuite"))
    passed = sum({"failure", "error", "skipped"}.isdisjoint(m.tag for m in case) for case in cases)
    text = f"{passed} passed, {len(failed)} failed, {skipped} skipped in {seconds:.0f} s"
    return "\n".join([text, *failed[:20]]) if cases else "no tests were found"
