# SPDX-License-Identifier: Apache-2.0
"""Signal handlers that use samebytes during its first use, each in an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.together

# A signal comes when the module `when` is looked for, which is then being imported by `because`.
_PREPARE = """
import signal, sys
import samebytes as sb
from samebytes.errors import UnknownNameError

class Finder:
    def find_spec(self, name, *_):
        if name == when:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGUSR1)

def install(when_, handler):
    global when
    when = when_
    signal.signal(signal.SIGUSR1, lambda *_: handler())
    sys.meta_path.insert(0, Finder())

caught = []
def catching():
    try:
        sb.context("toy")
    except Exception as error:
        caught.append(error)
    else:
        caught.append(None)
"""
_PLUGIN = """
import toy_lib
from samebytes.plugins import API, ContextSpec, Plugin, hookimpl
PLUGIN = Plugin(api=API, summary="made up")

@hookimpl
def samebytes_contexts():
    return [ContextSpec(node="toy", context="toy_backend:ToyContext")]
"""
_BACKEND = """
import toy_other
from samebytes import CpuTensor
from samebytes.plugins import HostContext
class ToyContext(HostContext):
    memory_type = "toy"
    node = "toy"
    tensor_class = CpuTensor
    @classmethod
    def create(cls, device, parent):
        from samebytes import Device
        return cls(Device("CPU"))
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """The folder of a plugin "toy", whose module imports toy_lib, and whose backend toy_other."""
    for name, text in (
        ("toy_plugin", _PLUGIN), ("toy_backend", _BACKEND), ("toy_lib", ""), ("toy_other", ""),
    ):  # fmt: skip
        (tmp_path / f"{name}.py").write_text(text)
    info = tmp_path / "toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[samebytes.plugins]\ntoy = toy_plugin\n")
    return tmp_path


def run(toy: Path, code: str) -> None:
    program = f"import sys; sys.path.insert(0, {str(toy)!r})\n{_PREPARE}\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "SAMEBYTES_STRICT": ""},  # plugins are set aside
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("when", ["toy_lib", "toy_other"])
def test_a_handler_finds_the_plugin_whole(toy: Path, when: str) -> None:
    """It runs when the import has ended."""
    run(
        toy,
        f"""
install({when!r}, catching)
assert sb.context("toy").node == "toy"
assert caught == [None], caught
""",
    )


def test_a_plugin_that_uses_others_is_set_aside(toy: Path) -> None:
    """As before: it asks again at each import."""
    (toy / "toy_lib.py").write_text("import samebytes; samebytes.context('opencl')")
    run(
        toy,
        """
try:
    sb.context("toy")
except UnknownNameError as error:
    assert "it may only declare" in str(error), error
else:
    raise AssertionError("no error came out")
assert sb.context("cpu")
""",
    )


def test_keyboard_interrupt_leaves_nothing_behind(toy: Path) -> None:
    run(
        toy,
        """
def interrupt():
    raise KeyboardInterrupt
install("toy_lib", interrupt)
try:
    sb.context("toy")
except KeyboardInterrupt:
    pass
assert sb.context("toy").node == "toy"
""",
    )
