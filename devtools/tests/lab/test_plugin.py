# SPDX-License-Identifier: Apache-2.0
"""The guest's pytest plugin, in separate pytest runs with a list of buffers made up."""

import os
import subprocess
import sys
from pathlib import Path

from devtools.workspace import ROOT

# A "DMA-BUF" is a line of a file here: the kernel of this machine may make none.
CONFTEST = """
from pathlib import Path
import pytest
import devtools.lab.buffers

BUFINFO = Path(__file__).with_name("bufinfo")
BUFINFO.write_text("4096\\t0\\t0\\t1\\reported\\t1\\t<none>\\n")
devtools.lab.buffers.BUFINFO = BUFINFO

@pytest.fixture
def make():
    def add(inode):
        text = BUFINFO.read_text()
        BUFINFO.write_text(text + f"4096\\t0\\t0\\t1\\tudmabuf\\t{inode}\\t<none>\\n")
    return add

@pytest.fixture(scope="module")
def kept():
    line = "4096\\t0\\t0\\t1\\tudmabuf\\t7\\t<none>\\n"
    BUFINFO.write_text(BUFINFO.read_text() + line)
    yield
    BUFINFO.write_text(BUFINFO.read_text().replace(line, ""))
"""


def run(folder: Path, tests: str) -> tuple[int, str, list[str]]:
    """The exit status, the output, and what the host reads of leftovers."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(tests)
    leftovers = folder / "leftovers"
    # The list is replaced before the plugin is configured, hence the -p for the conftest.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "conftest"]
    command += ["-p", "devtools.lab.pytest_plugin", f"--leftovers={leftovers}"]
    answer = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.returncode, answer.stdout, leftovers.read_text().splitlines()


def test_nothing_is_left(tmp_path: Path) -> None:
    status, _, left = run(tmp_path, "def test_it(kept): pass\n")
    assert (status, left) == (0, [])


def test_a_leftover_is_a_failure_and_named_with_its_test(tmp_path: Path) -> None:
    tests = "def test_good(kept): pass\ndef test_bad(make): make(8)\ndef test_more(): pass\n"
    status, output, left = run(tmp_path, tests)
    assert status == 1
    assert "3 passed" in output
    assert left == ["DMA-BUF 8 of udmabuf, 4096 bytes, since test_it.py::test_bad"]
    assert f"LEFT OVER {left[0]}" in output


def test_a_skip_because_of_the_kernel_is_a_failure(tmp_path: Path) -> None:
    tests = """
import pytest
def test_one(): pytest.skip("this kernel makes no DMA-BUFs: python3 dev.py lab")
def test_two(): pytest.skip("no network")
"""
    status, output, _ = run(tmp_path, tests)
    assert status == 1
    assert "1 failed, 1 skipped" in output
