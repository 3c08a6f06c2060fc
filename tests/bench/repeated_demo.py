# SPDX-License-Identifier: Apache-2.0
"""`samebytes demo` many times: it says what it should each time, and never two things at once."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["complaints", "run_demos", "said", "summary"]

Report = Mapping[str, Any]
# What was compared: the job, the part of it, and the other way.
Subject = tuple[str, str, str]

_JOBS = {"pipeline": "find and draw boxes", "rgb": "RGB model"}
_PARTS = {"without_codecs": "without codecs", "all": "with codecs"}
_NOTHING = "no difference shown"


def run_demos(times: int) -> int:
    """Run it, print what all runs said, and give the exit status: 1 if that is not as it should be.

    What it needs to be right does not depend on how busy the machine is; its figures do.
    """
    reports = []
    for number in range(times):
        reports.append(_run())
        print(f"run {number + 1} of {times}", flush=True)
    print("\n".join(summary(reports)))
    wrong = complaints(reports)
    print("\n".join(wrong) if wrong else f"{times} runs, as they should be", flush=True)
    return 1 if wrong else 0


def said(report: Report) -> Iterator[tuple[Subject, str]]:
    """Yield the verdicts of one run on CPU time: "less", "MORE" or that no difference was shown."""
    for key, job in _JOBS.items():
        for other, way in report[key]["ways"].items():
            for part, words in _PARTS.items():
                found = way[part].get("samebytes_saved_cpu")
                if found is None:  # samebytes itself
                    continue
                kind = "less" if found["rounds_less"] > found["rounds_more"] else "MORE"
                yield (job, words, other), kind if found["shown"] else _NOTHING


def summary(reports: Sequence[Report]) -> list[str]:
    """Lines that say how often each verdict was given."""
    return [
        f"{job}, {part}, beside {other}: "
        + ", ".join(f"{kind} {count} times" for kind, count in counted.most_common())
        for (job, part, other), counted in _counted(reports).items()
    ]


def complaints(reports: Sequence[Report]) -> list[str]:
    """The errors in these runs: copies, boxes that differ, verdicts that contradict each other."""
    wrong = []
    for number, report in enumerate(reports, 1):
        verified = report["verified"]
        if verified["copied_bytes"]:
            wrong.append(f"run {number}: {verified['copied_bytes']} bytes were copied")
        if not verified["equal_addresses"] or not verified["writes_seen"]:
            wrong.append(f"run {number}: nothing was verified")
        if report["same_boxes"] is not True:
            wrong.append(f"run {number}: the ways found different boxes")
        if report["boxes"] != reports[0]["boxes"]:
            wrong.append(f"run {number}: other boxes than run 1")
        for key, job in _JOBS.items():
            wrong += [
                f"run {number}: {job}: {name} was left out: {reason}"
                for name, reason in report[key]["missing"].items()
            ]
    for (job, part, other), counted in _counted(reports).items():
        if counted["less"] and counted["MORE"]:
            wrong.append(
                f"{job}, {part}, beside {other}: {counted['less']} runs showed less CPU time, "
                f"{counted['MORE']} showed more"
            )
    return wrong


def _counted(reports: Sequence[Report]) -> dict[Subject, Counter[str]]:
    found: dict[Subject, Counter[str]] = {}
    for report in reports:
        for subject, kind in said(report):
            found.setdefault(subject, Counter())[kind] += 1
    return found


def _run() -> Report:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "samebytes", "demo", "--json"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if not done.stdout:
        raise SystemExit(f"samebytes demo ended with status {done.returncode}")
    report: Report = json.loads(done.stdout)
    return report
