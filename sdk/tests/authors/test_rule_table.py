# SPDX-License-Identifier: Apache-2.0
"""The page of all rules is what the code says; run as a program, this file writes it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

import samebytes._authors.check
from samebytes.testing import (
    ContextSuite,
    ElementSuite,
    FrameSuite,
    MapperSuite,
    PluginSuite,
    TensorSuite,
)
from samebytes.testing.rules import CHAPTERS, Rule, all_rules

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "rules.md"
SUITES: tuple[type[Any], ...] = (
    PluginSuite, ContextSuite, TensorSuite, FrameSuite, MapperSuite, ElementSuite,
)  # fmt: skip
HEAD = """\
# The rule book

Every backend keeps these rules. Each is a function of `samebytes.testing.rules`, which needs no
pytest. The suites of [the testing kit](testing-kit.md) check it on memory as its own framework
shows it, and [`samebytes check-plugin`](cli.md#samebytes-check-plugin) through samebytes alone. A
broken rule is reported with the observation, its meaning for users, and the remedy.

`python sdk/tests/authors/test_rule_table.py` writes this page.
"""
REST = """
## Tests without a rule of their own

The suites try these by themselves: they need a model of who holds what, a process of their own, or
declarations that only a suite has.

| Suite | Test | What it holds to |
|---|---|---|
"""


def by_suites() -> dict[str, list[str]]:
    """By a rule's number, the tests that call it, as "TensorSuite.test_busy"."""
    found: dict[str, list[str]] = {r.number: [] for r in all_rules()}
    for suite, name, test in _tests():
        for used in _rules_in(suite, test):
            found[used.number].append(f"{suite.__name__}.{name}")
    return found


def by_check_plugin() -> set[str]:
    """The numbers of the rules that modules of check-plugin import."""
    package = samebytes._authors.check
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
    ]
    return {
        value.number for module in modules for value in vars(module).values()
        if isinstance(value, Rule)
    }  # fmt: skip


def page() -> str:
    """The whole page."""
    suites, command = by_suites(), by_check_plugin()
    lines = [HEAD]
    for number, chapter in CHAPTERS.items():
        lines.append(f"## {number}. {chapter}\n")
        rules = [r for r in all_rules() if r.number.startswith(f"{number}.")]
        if not rules:
            lines.append("Tests of the suites alone: see below.\n")
            continue
        lines.append("| Number | Name | What holds | Suites | check-plugin |")
        lines.append("|---|---|---|---|---|")
        for r in rules:
            tests = ", ".join(f"`{t}`" for t in suites[r.number]) or "-"
            checks = "yes" if r.number in command else "-"
            lines.append(f"| {r.number} | `{r.name}` | {r.sentence} | {tests} | {checks} |")
        lines.append("")
    lines.append(REST.strip("\n"))
    for suite, name, test in _tests():
        if not _rules_in(suite, test):
            says = (test.__doc__ or "").strip().splitlines()[0]
            lines.append(f"| {suite.__name__} | `{name}` | {says} |")
    return "\n".join(lines) + "\n"


def _tests() -> Iterator[tuple[type[Any], str, FunctionType]]:
    for suite in SUITES:
        for name in sorted(dir(suite)):
            test = getattr(suite, name)
            if name.startswith("test_") and isinstance(test, FunctionType):
                yield suite, name, test


def _rules_in(suite: type[Any], function: FunctionType) -> list[Rule[Any]]:
    """The rules that a test calls, by itself or in what it runs in a child process."""
    found: dict[str, Rule[Any]] = {}
    for code in _codes(function.__code__):
        values = [function.__globals__.get(name) for name in code.co_names]
        found.update((value.number, value) for value in values if isinstance(value, Rule))
        for name in code.co_consts:
            if isinstance(name, str) and name.startswith("check_") and hasattr(suite, name):
                found.update((r.number, r) for r in _rules_in(suite, getattr(suite, name)))
    return list(found.values())


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


# What the suites do not see.
ONLY_CHECK_PLUGIN = {
    "4.1",  # they count in assert_nothing_left and assert_steady, which are public
    "4.2",
    "5.4",  # they name what an edge must take
    "6.12",  # pytest shows deprecations
    "6.13",
    "6.14",
}


@pytest.mark.skipif(not PAGE.exists(), reason="the page lies in the repository, not in the wheel")
def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "write it again: python sdk/tests/authors/test_rule_table.py"


def test_check_plugin_tries_the_whole_book() -> None:
    assert {r.number for r in all_rules()} == by_check_plugin()


def test_the_suites_try_all_that_they_can() -> None:
    unused = {number for number, tests in by_suites().items() if not tests}
    assert unused == ONLY_CHECK_PLUGIN


if __name__ == "__main__":
    PAGE.write_text(page())
