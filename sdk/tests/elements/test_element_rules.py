# SPDX-License-Identifier: Apache-2.0
"""The rules for elements, tried on those of the SDK."""

from __future__ import annotations

import os

from samebytes.elements import Element, create
from samebytes.testing import ElementSuite


class TestJsonSink(ElementSuite):
    element = "json.sink"

    def make(self) -> Element:
        """Lines that nobody reads."""
        return create("json.sink", os.devnull)
