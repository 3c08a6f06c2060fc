# SPDX-License-Identifier: Apache-2.0
"""Edges that require other plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import samebytes as sb

if TYPE_CHECKING:
    from sdk.tests.conftest import Site


def requiring(site: Site, requirement: str) -> sb.PluginInfo:
    """A plugin with one edge, which requires that."""
    site.plugin(
        "requiring",
        f"""
@hookimpl
def samebytes_mappers():
    return [MapperSpec(source="cpu", target="cpu", mapper="a:B", transfer=Transfer.ALIAS,
                       summary="", requires=({requirement!r},))]
""",
    )
    return next(p for p in sb.installed_plugins() if p.name == "requiring")


@pytest.mark.parametrize(
    "text",
    [
        "",
        ">=1",
        "a>=",
        "a>=x",
        "a~=1",
        "a!=1",
        "a>=1,",
        "a>=1 <2",
        "a=1",
        "a>=1..2",
        "a>=\u00b2",
        "a b",
    ],
)
def test_nonsense(site: Site, text: str) -> None:
    found = requiring(site, text)
    assert (found.state, found.edges) == ("set aside", ())
    assert f"{text!r} is not a requirement" in found.error


@pytest.mark.parametrize(
    ("version", "requirement", "met"),
    [
        ("1.0", "a", True),
        ("1.0", "a>=1,<2", True),
        ("2.0", "a>=1,<2", False),
        ("0.9", "a>=1,<2", False),
        ("2", "a<2.0.0", False),
        ("1.10", "a>1.9", True),
        ("1", "a>1,<=10.0", False),
        ("10", "a>1,<=10.0", True),
        ("1.2.3.4.5", "a>1.2.3.4.4", True),
        ("1.2rc1", "a>=1.2", True),
        ("1.2.dev3", "a>=1.3", False),
        ("1.0+local", "a==1", True),
        ("v3.1", "a>=3", True),
        ("1!0.5", "a<1", True),
        ("unknown", "a>=1", False),
        ("unknown", "a", True),
        ("1.2.3", " my-plugin == 1.2.3 ", True),
        ("1.2.4", " my-plugin == 1.2.3 ", False),
    ],
)
def test_a_version_that_is_here(site: Site, version: str, requirement: str, met: bool) -> None:
    name = "my-plugin" if "my-plugin" in requirement else "a"
    site.module(
        "required", "from samebytes.plugins import *\nPLUGIN = Plugin(api=API, summary='')\n"
    )
    site.distribution("required", f"[samebytes.plugins]\n{name} = required\n", version)
    found = requiring(site, requirement)
    assert len(found.edges) == met
    assert [reason for _, reason in found.unmet] == (
        [] if met else [f"it needs {requirement}, and required {version} is here"]
    )
