# SPDX-License-Identifier: Apache-2.0
"""The kit's rules for plugins; those of elements are in test_ring_element_rules."""

from samebytes.testing import PluginSuite


class TestRingPlugin(PluginSuite):
    plugin = "ring"
