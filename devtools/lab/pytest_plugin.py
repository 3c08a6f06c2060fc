# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin for the guest: tests must find DMA-BUFs there, and leave none behind.

After the last test, no DMA-BUF may live that did not live before the first. One that does is named
with the test during which it appeared. A test that skips because of the kernel has failed, since
no other kernel could do more. Load it with `-p devtools.lab.pytest_plugin`.
"""

import gc
from collections.abc import Generator
from pathlib import Path

import pytest

from devtools.lab.buffers import Buffer, live_buffers

_BECAUSE_OF_THE_KERNEL = ("Skipped: this kernel ", "this kernel ")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the file in which the host reads about leftovers."""
    parser.addoption("--leftovers", type=Path, required=True, metavar="FILE")


def pytest_configure(config: pytest.Config) -> None:
    """Watch from here on."""
    config.pluginmanager.register(_Watch(config.getoption("leftovers")), "samebytes-lab-watch")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip for want of DMA-BUFs into a failure."""
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        if reason.startswith(_BECAUSE_OF_THE_KERNEL):
            report.outcome = "failed"
            report.longrepr = f"{reason}\n(in the lab: the kernel of the lab has what there is)"
    return report


class _Watch:
    """A record of the test during which each DMA-BUF was first seen."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._before = live_buffers()
        self._born: dict[int, str] = {}
        self._left: list[str] = []

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Look when a test and its own fixtures are done; wider fixtures may still hold buffers."""
        for inode in self._new():
            self._born.setdefault(inode, nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Look when all fixtures are done: nothing may be left."""
        if self._new():
            gc.collect()  # a traceback that pytest keeps, or a cycle of a test's own
        self._left = [
            f"{buffer}, since {self._born.get(inode, 'outside of the tests')}"
            for inode, buffer in self._new().items()
        ]
        self._file.write_text("".join(f"{line}\n" for line in self._left))
        if self._left:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the buffers that are left."""
        for line in self._left:
            terminalreporter.write_line(f"LEFT OVER {line}", red=True)

    def _new(self) -> dict[int, Buffer]:
        return {n: buffer for n, buffer in live_buffers().items() if n not in self._before}
