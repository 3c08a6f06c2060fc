# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: of a test with many parameters, a few.

`--few=N` keeps at most N of each test function's parametrizations, the first, the last and those
evenly between them; the others count as deselected. A tier uses it that asks whether a test can run
at all in other company: one parameter answers that as well as a hundred do, and the tests together
run all of them.

`--kit-without=NAME` leaves out the tests of `samebytes.testing` whose names contain NAME, for the
same reason: they take long. Tests that only have such a name stay.
"""

from collections.abc import Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    parser.addoption("--few", type=int, metavar="N")
    parser.addoption("--kit-without", action="append", default=[], metavar="NAME")


@pytest.hookimpl(trylast=True)  # after -k and -m, so that N of what they leave are kept
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of the kit, and parametrizations beyond N."""
    names = config.getoption("kit_without")
    left_out = [i for i in items if is_of_the_kit(i) and any(name in i.name for name in names)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
    most = config.getoption("few")
    if most is None:
        return
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {item for alike in functions.values() for item in spread(alike, most)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def is_of_the_kit(item: pytest.Item) -> bool:
    """True if `samebytes.testing` defines the test, whatever class inherits it."""
    module = getattr(getattr(item, "function", None), "__module__", None) or ""
    return module.partition(".testing")[0] == "samebytes"


def spread(alike: Sequence[T], most: int) -> Sequence[T]:
    """At most so many of them: the first, the last, and evenly between."""
    if len(alike) <= most:
        return alike
    if most == 1:
        return alike[:1]
    return [alike[n * (len(alike) - 1) // (most - 1)] for n in range(most)]
