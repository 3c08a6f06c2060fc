# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: a test skipped for a missing package or device has failed.

The reason of such a skip is "missing package: NAME ..." (pytest.importorskip's own words count
too), or "missing device NAME ..." for a device that software could replace. Other skips stay
skips. `--may-miss=NAME` makes an exception.
"""

import re
from collections.abc import Generator
from pathlib import Path

import pytest

_MISSING = re.compile(
    r"(?:Skipped: )?(?:missing (?:package|device):? |could not import ')(?P<name>[\w.-]+)"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names exceptions."""
    parser.addoption("--may-miss", action="append", default=[], metavar="NAME")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Record the running test beside the report: a signal that ends the run leaves no report."""
    if report := item.config.getoption("xmlpath"):
        Path(report).with_suffix(".running").write_text(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of one test into a failure."""
    report = yield
    _judge(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn the skip of a whole module into an error."""
    report = yield
    _judge(report, collector.config)
    return report


def _judge(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> None:
    if not report.skipped or not isinstance(report.longrepr, tuple):
        return
    _, _, reason = report.longrepr
    missing = _MISSING.match(reason)
    # Modules are named in exceptions, distributions in some reasons.
    name = missing and missing["name"].split(".")[0].replace("-", "_")
    if name is None or name in config.getoption("may_miss"):
        return
    report.outcome = "failed"
    report.longrepr = f"{reason}\n(--strict: a skip for a missing package is a failure)"
