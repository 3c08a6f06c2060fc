# SPDX-License-Identifier: Apache-2.0
"""plane_resizer: the function of an installed converter, and the error where none has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import samebytes as sb
from samebytes.errors import MissingDependencyError, PluginError
from samebytes.plugins import plane_resizer

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

DECLARES = """
@hookimpl
def samebytes_converters():
    return [ConverterSpec(
        node="cpu", converter="beta_conversions:Fill", cost={cost}, planes="{planes}",
    )]
"""


@pytest.mark.usefixtures("alpha")
def test_a_converter_without_one_does_not_count() -> None:
    with pytest.raises(MissingDependencyError, match="plugin that resizes planes") as caught:
        plane_resizer("openvino")
    assert caught.value.plugin == "openvino"
    assert "opencv" in caught.value.hint


def test_the_cheapest_that_can_be_loaded(alpha: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "cpu,alpha,beta,gamma")
    alpha.module("beta_conversions", "def resize(source, target): target[...] = source[0, 0]\n")
    alpha.plugin("beta", DECLARES.format(cost=20.0, planes="beta_conversions:resize"))
    sb.refresh()
    function = plane_resizer("openvino")
    assert function.__module__ == "beta_conversions"
    alpha.plugin("gamma", DECLARES.format(cost=10.0, planes="beta_conversions:missing"))
    sb.refresh()
    assert plane_resizer("openvino") is function


def test_one_that_cannot_be_loaded(alpha: Site) -> None:
    alpha.plugin("beta", DECLARES.format(cost=20.0, planes="nowhere:resize"))
    sb.refresh()
    with pytest.raises(PluginError, match="nowhere"):
        plane_resizer("openvino")
