# SPDX-License-Identifier: Apache-2.0
"""A made-up plugin with converters, which need no framework."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import samebytes as sb

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

DECLARES = """
@hookimpl
def samebytes_converters():
    return [ConverterSpec(node="cpu", converter="alpha_conversions:Fill", summary="fills")]
"""

CONVERSIONS = """
from samebytes.plugins import Conversion, Refused

made = []

class Fill(Conversion):
    \"\"\"Fills the new picture with the first element of the old one.\"\"\"

    def __init__(self, source, target, method):
        super().__init__(source, target, method)
        if target.image.format.name == "NV21":
            raise Refused("it does not like NV21")
        made.append(self)

    def run(self, source, target):
        if source[0].native.strides[0] < 0:
            raise Refused("it does not read from the bottom up")
        for plane in target:
            plane.native[...] = source[0].native.flat[0]
"""


@pytest.fixture
def alpha(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A plugin whose converter is the only one."""
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "cpu,alpha,beta")
    site.module("alpha_conversions", CONVERSIONS)
    site.plugin("alpha", DECLARES)
    sb.reset_stats()
    yield site
    monkeypatch.undo()
    sb.refresh()
