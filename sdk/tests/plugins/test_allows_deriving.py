# SPDX-License-Identifier: Apache-2.0
"""A plugin can say that contexts of others, written before it, derive from its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import samebytes as sb
from samebytes.errors import NoRouteError, PluginDeprecationWarning

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

_CLASS = """
from samebytes.plugins import HostContext

class Here(HostContext):
    memory_type = node = {0!r}
    singleton = False
"""


def install(site: Site, name: str, **fields: object) -> None:
    """A plugin with one memory type of its own name."""
    site.module(f"{name}_classes", _CLASS.format(name))
    site.plugin(
        name,
        f"""
@hookimpl
def samebytes_contexts():
    return [ContextSpec(node={name!r}, context="{name}_classes:Here", **{fields!r})]
""",
    )


def derives_from(name: str) -> list[str]:
    """The memory types that its contexts derive from."""
    with pytest.raises(NoRouteError) as caught:
        sb.context("cpu").derive(name)
    (reason,) = caught.value.reasons
    return reason.removeprefix(f"contexts of {name} derive from ").split(", ")


@pytest.mark.parametrize("old", ["a_old", "z_old"])
def test_in_any_order_of_plugins(site: Site, old: str) -> None:
    install(site, old, derives_from=("oldest",))
    install(site, "new", allows_deriving=(old, "never_installed"))
    install(site, "newer", allows_deriving=(old,))
    for _ in range(2):
        assert derives_from(old) == ["oldest", "new", "newer"]
        assert derives_from("new") == ["no other context"]
        sb.refresh()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"transit": "no"}, "transit 'no' is not a bool"),
        ({"allows_deriving": "old"}, "allows_deriving 'old' is not a tuple"),
    ],
)
def test_what_can_be_wrong(site: Site, fields: dict[str, object], problem: str) -> None:
    install(site, "new", **fields)
    (found,) = [one for one in sb.installed_plugins() if one.name == "new"]
    assert found.state == "set aside"
    assert problem in found.error


def test_its_former_name_is_followed_and_deprecated(site: Site) -> None:
    install(site, "new", lends_to=("old",))
    install(site, "old")
    with pytest.warns(PluginDeprecationWarning, match="'new': lends_to is now called allows_deriv"):
        sb.installed_plugins()
    assert derives_from("old") == ["new"]
