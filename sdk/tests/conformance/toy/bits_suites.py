# SPDX-License-Identifier: Apache-2.0
"""The toy's elements in the suite. Run by run_faults.py, with one fault at a time."""

from __future__ import annotations

from samebytes.testing import ElementSuite, PluginSuite


class TestPlugin(PluginSuite):
    plugin = "bits"
    frameworks = ("bits_elements",)
    probes = False


class TestCount(ElementSuite):
    element = "bits.count"


class TestAdd(ElementSuite):
    element = "bits.add"


class TestMean(ElementSuite):
    element = "bits.mean"


class TestHalf(ElementSuite):
    element = "bits.half"


class TestKeep(ElementSuite):
    element = "bits.keep"
    parameters = {"path": "/dev/null"}  # noqa: RUF012 - a ClassVar of the suite


class TestTwice(ElementSuite):
    element = "bits.twice"


class TestDelay(ElementSuite):
    element = "bits.delay"


class TestFade(ElementSuite):
    element = "bits.fade"


class TestMissing(ElementSuite):
    element = "bits.missing"
