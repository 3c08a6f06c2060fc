# SPDX-License-Identifier: Apache-2.0
"""The kit's rules for plugins; those of the element are in test_source."""

from samebytes.testing import PluginSuite


class TestV4L2Plugin(PluginSuite):
    plugin = "v4l2"
