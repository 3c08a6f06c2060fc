# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: of a test with many parameters, a few.

`--few=N` keeps at most N of each test function's parametrizations, the first, the last and those
evenly between them; the others count as deselected. A tier uses it that asks whether a test can run
at all in other company: one parameter answers that as well as a hundred do, and the tests together
run all of them.
"""

from collections.abc import Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--few", type=int, metavar="N")


@pytest.hookimpl(trylast=True)  # after -k and -m, so that N of what they leave are kept
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out parametrizations beyond N."""
    most = config.getoption("few")
    if most is None:
        return
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {item for alike in functions.values() for item in spread(alike, most)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def spread(alike: Sequence[T], most: int) -> Sequence[T]:
    """At most so many of them: the first, the last, and evenly between."""
    if len(alike) <= most:
        return alike
    if most == 1:
        return alike[:1]
    return [alike[n * (len(alike) - 1) // (most - 1)] for n in range(most)]
