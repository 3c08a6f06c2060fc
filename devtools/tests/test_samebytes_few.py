# SPDX-License-Identifier: Apache-2.0
"""Of tests with many parameters a few are run, and the others are counted."""

import pytest

from devtools.pytest_run import PLUGINS, few

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
"""


@pytest.fixture
def outcome(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.RunResult:
    monkeypatch.setenv("PYTHONPATH", str(PLUGINS))
    pytester.makepyfile(TESTS)
    return pytester.runpytest_subprocess("-s", *few())


def test_the_first_the_last_and_some_between(outcome: pytest.RunResult) -> None:
    outcome.assert_outcomes(passed=4 + 3 + 4 + 1, deselected=5 + 5)
    printed = outcome.stdout.str()
    for name in ("many", "other"):
        assert [n for n in range(9) if f"<{name} {n}>" in printed] == [0, 2, 5, 8]
    assert all(f"<few {n}>" in printed for n in range(3))


def test_the_expression_counts_first(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the few could be those that -k leaves out."""
    monkeypatch.setenv("PYTHONPATH", str(PLUGINS))
    pytester.makepyfile(TESTS)
    ran = pytester.runpytest_subprocess("-k", "test_many and (1 or 3 or 4) and not Other", *few())
    ran.assert_outcomes(passed=3, deselected=19)
