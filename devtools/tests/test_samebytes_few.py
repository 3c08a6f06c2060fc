# SPDX-License-Identifier: Apache-2.0
"""Of tests with many parameters one is run, and the others are counted."""

import pytest

from devtools.pytest_run import PLUGINS, few

Pytester = pytest.Pytester

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.parametrize("n", range(9))
def test_many(n):
    print(f"<many {n}>")

@pytest.mark.parametrize("n", range(3))
def test_few(n):
    print(f"<few {n}>")

class TestOther:
    @pytest.mark.parametrize("n", range(9))
    def test_many(self, n):
        print(f"<other {n}>")

def test_one():
    print("<one>")

@pytest.mark.together
def test_long():
    print("<long>")

class TestOfTheKit:
    def test_lifetimes(self):
        print("<lifetimes>")

TestOfTheKit.test_lifetimes.__module__ = "samebytes.testing._lifetimes"

def test_lifetimes_of_mine():
    print("<mine>")
"""


@pytest.fixture
def pytester_with_tests(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Pytester:
    monkeypatch.setenv("PYTHONPATH", str(PLUGINS))
    pytester.makeini("[pytest]\nmarkers = together")
    pytester.makepyfile(TESTS)
    return pytester


def test_one_and_nothing_that_is_the_same_in_any_company(
    pytester_with_tests: Pytester,
) -> None:
    outcome = pytester_with_tests.runpytest_subprocess("-s", *few())
    outcome.assert_outcomes(passed=1 + 1 + 1 + 2, deselected=8 + 2 + 8 + 2)
    printed = outcome.stdout.str()
    for name in ("many", "other"):
        assert [n for n in range(9) if f"<{name} {n}>" in printed] == [0]
    assert "<one>" in printed
    assert "<mine>" in printed
    assert "<long>" not in printed
    assert "<lifetimes>" not in printed


def test_the_expression_counts_first(pytester_with_tests: Pytester) -> None:
    """Else the one could be one that it leaves out."""
    outcome = pytester_with_tests.runpytest_subprocess(
        *few("test_many and (1 or 3 or 4) and not Other or lifetimes")
    )
    outcome.assert_outcomes(passed=1 + 1, deselected=23)
