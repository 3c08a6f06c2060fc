# SPDX-License-Identifier: Apache-2.0
"""The tests that run a line of a package, found by one run of the closest under coverage.py."""

import json
import os
import subprocess
import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devtools.mutated import Package
from devtools.venv import PYTHON
from devtools.workspace import ROOT, CommandError

__all__ = ["TestsOfLines", "measure"]

_PLUGINS = ROOT / "devtools" / "pytest_plugins"
# The fastest of the tests that run a line: so many, as the plugin writes, and of no more seconds.
_MOST = 300
_SECONDS = 30.0
_SECONDS_OF_A_MODULE = 120.0


@dataclass(frozen=True)
class TestsOfLines:
    """The measured tests and the lines that they run.

    Attributes:
        tests: their ids, the fastest first.
        seconds: how long each of them takes.
        lines: by module, relative to the package, and line: the numbers of the tests that run it.
    """

    tests: Sequence[str]
    seconds: Sequence[float]
    lines: Mapping[Path, Mapping[int, Sequence[int]]]

    def of(self, path: Path, line: int) -> list[str]:
        """The fastest tests that run the line, or that run its module, if it runs at import."""
        lines = self.lines.get(path, {})
        numbers: Iterable[int] = lines.get(_statement(lines, line), ())
        if not numbers:
            numbers = sorted({number for found in lines.values() for number in found})[:_MOST]
        chosen, total = list[str](), 0.0
        for number in numbers:
            total += self.seconds[number]
            if chosen and total > _SECONDS:
                break
            chosen.append(self.tests[number])
        return chosen


def _statement(lines: Mapping[int, Sequence[int]], line: int) -> int:
    """The last line that runs, at or before this one: an expression may begin on another."""
    known = sorted(lines)
    place = bisect_right(known, line)
    return known[place - 1] if place else line


def measure(package: Package) -> TestsOfLines:
    """Run its suites once, each module of tests by itself: one that sets a tracer ends coverage's.

    Raises:
        CommandError: no test was measured.
    """
    seconds: dict[str, float] = {}
    tests: dict[tuple[Path, int], set[str]] = {}
    for module in _modules(package.suites):
        measured = _measure_module(package, module)
        names = measured["tests"]
        seconds.update(zip(names, measured["seconds"], strict=True))
        for path, by_line in measured["lines"].items():
            for line, found in by_line.items():
                place = Path(path).relative_to(package.path), int(line)
                tests.setdefault(place, set()).update(names[number] for number in found)
    if not seconds:
        raise CommandError(f"no test of {package.path.name} passed")
    order = sorted(seconds, key=lambda test: seconds[test])
    numbers = {test: number for number, test in enumerate(order)}
    lines: dict[Path, dict[int, Sequence[int]]] = {}
    for (path, line), found in tests.items():
        lines.setdefault(path, {})[line] = sorted(numbers[test] for test in found)[:_MOST]
    return TestsOfLines(order, [seconds[test] for test in order], lines)


def _modules(suites: Iterable[str]) -> list[str]:
    return [
        str(path.relative_to(ROOT))
        for suite in suites
        for path in (sorted((ROOT / suite).rglob("test_*.py")) or [ROOT / suite])
    ]


def _measure_module(package: Package, module: str) -> dict[str, Any]:
    nothing: dict[str, Any] = {"tests": [], "seconds": [], "lines": {}}
    with tempfile.TemporaryDirectory(prefix="samebytes-lines-") as folder:
        result = Path(folder, "lines.json")
        command: list[str | Path] = [
            PYTHON, "-m", "coverage", "run", f"--data-file={folder}/coverage",
            f"--source={package.path}", "-m", "pytest", "-q", "-p", "no:cacheprovider",
            "-p", "samebytes_contexts", f"--lines-to={result}", *package.options, module,
        ]  # fmt: skip
        environment = os.environ | {"PYTHONPATH": str(_PLUGINS), "PYTHONDONTWRITEBYTECODE": "1"}
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command, cwd=ROOT, env=environment, check=False, timeout=_SECONDS_OF_A_MODULE,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        found: dict[str, Any] = json.loads(result.read_text()) if result.exists() else nothing
    return found
