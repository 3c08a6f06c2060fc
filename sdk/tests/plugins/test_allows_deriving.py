# SPDX-License-Identifier: Apache-2.0
"""A plugin can say that contexts of others, written before it, derive from its own."""

from __future__ import annotations

import pytest

from samebytes._plugins.spec_checks import problem_of_spec
from samebytes._plugins.tables import Declarations, PluginRecord, Tables
from samebytes.errors import PluginDeprecationWarning
from samebytes.plugins import ContextSpec


def record(
    name: str, derives_from: tuple[str, ...] = (), allows_deriving: tuple[str, ...] = ()
) -> PluginRecord:
    spec = ContextSpec(
        node=name,
        context="a.module:Class",
        derives_from=derives_from,
        allows_deriving=allows_deriving,
    )
    return PluginRecord(name, declared=Declarations(contexts=(spec,)))


@pytest.mark.parametrize("turned", [False, True])
def test_in_any_order_of_plugins(turned: bool) -> None:
    records = [
        record("old", derives_from=("oldest",)),
        record("new", allows_deriving=("old", "never_installed")),
        record("newer", allows_deriving=("old",)),
    ]
    found = Tables()
    for one in reversed(records) if turned else records:
        found.add(one)
    found.link()
    assert found.contexts["old"].derives_from[0] == "oldest"
    assert {*found.contexts["old"].derives_from} == {"oldest", "new", "newer"}
    assert found.contexts["new"].derives_from == ()
    again = found.contexts["old"]
    found.link()
    assert found.contexts["old"] == again


def test_it_is_a_tuple_of_nodes() -> None:
    no_bool = ContextSpec(node="new", context="a:B", transit="no")  # type: ignore[arg-type]
    assert problem_of_spec(no_bool) == "transit 'no' is not a bool"
    wrong = ContextSpec(node="new", context="a:B", allows_deriving="old")  # type: ignore[arg-type]
    assert "allows_deriving 'old' is not a tuple" in str(problem_of_spec(wrong))


def test_its_former_name_is_followed_and_deprecated() -> None:
    with pytest.warns(PluginDeprecationWarning, match="'new': lends_to is now called allows_deriv"):
        spec = ContextSpec(node="new", context="a.module:Class", lends_to=("old",))
    found = Tables()
    found.add(PluginRecord("new", declared=Declarations(contexts=(spec,))))
    found.add(record("old"))
    found.link()
    assert found.contexts["old"].derives_from == ("new",)
