# SPDX-License-Identifier: Apache-2.0
"""The rules for elements, tried on those of rings."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

import samebytes
from samebytes.elements import Element, create
from samebytes.testing import ElementSuite

# One ring after another at the same address, of twelve pictures each.
FEEDER = """
import sys
import samebytes_ipc

while True:
    with samebytes_ipc.RingWriter(
        sys.argv[1], format="GRAY8", width=64, height=48, timeout=600
    ) as ring:
        ring.wait_for_readers()
        try:
            for number in range(12):
                frame = ring.acquire()
                with frame.map("cpu", "w") as view:
                    view.planes[0].native[...] = number
                frame.meta.pts = number
                ring.send(frame)
            del frame
        except samebytes_ipc.RingTimeoutError:
            pass
"""


class TestSource(ElementSuite):
    element = "ring.source"
    many = 200

    @pytest.fixture(autouse=True)
    def fed(self, tmp_path: Path) -> Any:
        """A process that writes, as long as the test runs."""
        self.address = str(tmp_path / "ring")
        process = subprocess.Popen([sys.executable, "-c", FEEDER, self.address])
        yield
        process.kill()
        process.wait(60)

    def make(self) -> Element:
        """A reader of the next ring, of whose eight slots it has six at most."""
        return create("ring.source", self.address, frames=6, timeout=60.0)


class TestSink(ElementSuite):
    """Without readers: frames are copied into slots, and nobody takes them."""

    element = "ring.sink"
    copies = True
    numbers: ClassVar[Any] = itertools.count()

    @pytest.fixture(autouse=True)
    def copies_are_expected(self, no_descriptor_left_over: None) -> Any:
        """The one into the slot, and those that the suite makes to look."""
        yield
        samebytes.reset_stats()

    def make(self) -> Element:
        """Another address each time."""
        name = f"@samebytes-{os.getpid()}-{next(self.numbers)}"
        return create("ring.sink", name, copy=True)
