# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: under coverage.py, notes which tests run which line, the fastest first.

Loaded by `dev.py mutate` with `-p samebytes_contexts`. `--lines-to=FILE` gets it as JSON: "tests",
the ids of the tests that passed, the fastest first, "seconds" of each, and "lines": for each file
and line, the numbers of the first tests that run it.
"""

import json
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

_MOST = 300
_seconds: dict[str, float] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.addoption("--lines-to", metavar="FILE")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Lines that run from now on are this test's."""
    measured = coverage.Coverage.current()
    if measured is not None:
        measured.switch_context(item.nodeid)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember the tests that pass."""
    if report.when == "call" and report.passed:
        _seconds[report.nodeid] = report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was measured."""
    file, measured = session.config.getoption("lines_to"), coverage.Coverage.current()
    if not file or measured is None:
        return
    tests = sorted(_seconds, key=lambda test: _seconds[test])
    numbers = {test: number for number, test in enumerate(tests)}
    data = measured.get_data()
    lines = {
        path: {
            line: sorted(numbers[test] for test in found if test in numbers)[:_MOST]
            for line, found in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
    }
    written = {"tests": tests, "seconds": [_seconds[test] for test in tests], "lines": lines}
    Path(file).write_text(json.dumps(written))
