# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: each test with one of its parameters.

`--few` keeps the first parametrization of each test function; the others count as deselected. It is
for a tier that shows only whether tests run with other packages around: one parameter shows that
as well as a hundred do, and the tests together run all of them.

`--kit-without=NAME` leaves out the tests of `samebytes.testing` whose names contain NAME, for the
same reason: they take long. Tests that only have such a name stay.
"""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    parser.addoption("--few", action="store_true")
    parser.addoption("--kit-without", action="append", default=[], metavar="NAME")


@pytest.hookimpl(trylast=True)  # after -k and -m, so that one of the selected is kept
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of the kit, and parametrizations beyond the first."""
    names, few = config.getoption("kit_without"), config.getoption("few")
    kept: list[pytest.Item] = []
    gone: list[pytest.Item] = []
    seen: set[str] = set()
    for item in items:
        function = item.nodeid.partition("[")[0]
        left_out = is_of_the_kit(item) and any(name in item.name for name in names)
        (gone if left_out or (few and function in seen) else kept).append(item)
        if not left_out:
            seen.add(function)
    config.hook.pytest_deselected(items=gone)
    items[:] = kept


def is_of_the_kit(item: pytest.Item) -> bool:
    """True if `samebytes.testing` defines the test, whatever class inherits it."""
    module = getattr(getattr(item, "function", None), "__module__", None) or ""
    return module.partition(".testing")[0] == "samebytes"
