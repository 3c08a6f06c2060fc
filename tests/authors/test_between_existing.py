# SPDX-License-Identifier: Apache-2.0
"""A third party's memory type in the middle of a chain between OpenCV and OpenVINO.

It is written as the documents say: a generated package, and two edges more. They cost less than the
way over CPU memory, so the router prefers them; when the package is broken, that way is taken.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EDGES = """\
        MapperSpec(
            source="opencv",
            target="relay",
            mapper="samebytes_relay._between:FromOpenCV",
            transfer=Transfer.ALIAS,
            summary="a block over the Mat",
            cost=0.25,
            requires=("opencv>=0.1,<1",),
        ),
        MapperSpec(
            source="relay",
            target="openvino",
            mapper="samebytes_relay._between:ToOpenVINO",
            transfer=Transfer.ALIAS,
            summary="a tensor over the block",
            access=("r",),
            cost=0.25,
            requires=("openvino>=0.1,<1",),
        ),
    ]
"""
BETWEEN = """\
import openvino
from samebytes import MemoryMapper
from samebytes.plugins import Refused

from .blocks import Block


class FromOpenCV(MemoryMapper):
    __slots__ = ()

    def connect(self, item, access):
        array = item.host_array()
        if not array.flags.c_contiguous:
            raise Refused("a block has no gaps")
        block = Block(array)
        return block.as_readonly() if access == "r" else block, item.known_info, None


class ToOpenVINO(MemoryMapper):
    __slots__ = ()

    def connect(self, item, access):
        array = item.native.array
        try:
            tensor = openvino.Tensor(array, openvino.Shape(array.shape))
        except RuntimeError as error:
            raise Refused(f"OpenVINO has no {array.dtype} elements") from error
        return tensor, item.info, None
"""
PROGRAM = """
import cv2, numpy as np
import samebytes as sb

array = np.zeros((4, 6, 3), np.uint8)
tensor = sb.tensor(array).map("opencv", "rw")
mapped = tensor.map("openvino")
cv2.rectangle(tensor.native, (0, 0), (5, 3), (9, 9, 9), -1)
assert mapped.native.data.ctypes.data == array.ctypes.data
assert (mapped.native.data == 9).all()
assert sb.stats().copies == 0
print(*[hop.spec.name for hop in sb.route("opencv", "openvino").hops], sep=", ")
"""


class Written:
    """The third party's package, on the path of the programs that are run."""

    def __init__(self, folder: Path) -> None:
        self._run("-m", "samebytes", "new-backend", "relay", "--into", str(folder))
        self.source = folder / "samebytes-relay" / "src"
        self.package = self.source / "samebytes_relay"
        plugin = self.package / "_plugin.py"
        assert plugin.read_text().endswith("        ),\n    ]\n")
        plugin.write_text(plugin.read_text().removesuffix("    ]\n") + EDGES)
        (self.package / "_between.py").write_text(BETWEEN)
        info = self.source / "samebytes_relay-0.1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: samebytes-relay\nVersion: 0.1.0\n"
        )
        (info / "entry_points.txt").write_text(
            "[samebytes.plugins]\nrelay = samebytes_relay._plugin\n"
        )

    def run(self, *arguments: str, status: int = 0) -> str:
        """Run Python with the package on its path."""
        return self._run(*arguments, status=status, PYTHONPATH=str(self.source))

    def _run(self, *arguments: str, status: int = 0, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], env={**os.environ, "SAMEBYTES_STRICT": "", **environment},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == status, done.stdout
        return done.stdout


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path)


def test_it_is_found_and_routed_through(written: Written) -> None:
    assert written.run("-c", PROGRAM) == "opencv -> relay, relay -> openvino\n"


def test_it_is_listed_diagnosed_and_checked(written: Written) -> None:
    assert "a block over the Mat" in written.run("-m", "samebytes", "list")
    assert "pages of" in written.run("-m", "samebytes", "doctor", "relay")
    assert "1. opencv -> relay" in written.run("-m", "samebytes", "route", "opencv", "openvino")
    checked = written.run("-m", "samebytes", "check-plugin", "relay")
    assert "0 failed" in checked
    assert "opencv -> relay" in checked


@pytest.mark.parametrize("module", ["_plugin.py", "_between.py"])
def test_a_broken_version_harms_nobody(written: Written, module: str) -> None:
    path = written.package / module
    path.write_text(f"{path.read_text()}\nraise RuntimeError('at home')\n")
    assert written.run("-c", PROGRAM) == "opencv -> cpu, cpu -> openvino\n"
    assert "at home" in written.run("-m", "samebytes", "check-plugin", "relay", status=1)
