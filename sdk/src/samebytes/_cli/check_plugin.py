# SPDX-License-Identifier: Apache-2.0
"""`samebytes check-plugin`: the rules for plugins, tried on one that is installed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from .doctor import seconds
from .table import print_table

if TYPE_CHECKING:
    from .._authors.check.reporting import Finding

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", metavar="NAME", help="an installed plugin")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=60.0,
        metavar="S",
        help="how long one child process may take, in seconds (default: 60)",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PART",
        help='try one context or edge alone, as "cpu -> mine"; may be given several times',
    )
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="report on stderr after each part what was found, as on a terminal",
    )


def run(options: argparse.Namespace) -> int:
    """Check, print, and fail if a rule is broken."""
    from .._authors.check.stages import check_plugin

    tell = _Progress() if options.verbose or sys.stderr.isatty() else None
    findings = check_plugin(options.name, options.timeout, options.only, tell)
    if options.json:
        print(
            json.dumps({"plugin": options.name, "findings": list(map(asdict, findings))}, indent=2)
        )
    else:
        _print(options.name, findings)
    return 1 if any(f.outcome == "failed" for f in findings) else 0


def _print(name: str, findings: list[Finding]) -> None:
    print_table(
        ("outcome", "rule", "on", "seen"),
        [(f.outcome, f.rule, f.subject, f.detail) for f in findings],
    )
    for finding in findings:
        if finding.outcome == "failed":
            print(f"\nfailed: {finding.rule} ({finding.subject})")
            print(f"  seen: {finding.detail}")
            if finding.means:
                print(f"  which means: {finding.means}")
            print(f"  remedy: {finding.remedy}")
    print(f"\n{name}: {_counts(findings)}")


def _counts(findings: Sequence[Finding]) -> str:
    """A line such as "12 passed, 0 failed"."""
    count = Counter(finding.outcome for finding in findings)
    return ", ".join(
        f"{count[outcome]} {outcome}"
        for outcome in ("passed", "warned", "failed", "not checked")
        if count[outcome] or outcome == "failed"
    )


class _Progress:
    """Reports on stderr what each part found and how long it took: in all it takes minutes."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def __call__(self, subject: str, findings: Sequence[Finding]) -> None:
        now = time.monotonic()
        print(
            f"{subject}: {_counts(findings)} ({now - self._since:.0f} s)",
            file=sys.stderr,
            flush=True,
        )
        self._since = now
