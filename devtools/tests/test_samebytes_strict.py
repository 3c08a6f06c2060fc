# SPDX-License-Identifier: Apache-2.0
"""The strict plugin, in separate pytest runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from devtools.workspace import ROOT

FOUR_SKIPS = """
import pytest

@pytest.mark.skip(reason="missing package: torch (pip install torch)")
def test_by_mark(): pass

def test_by_call():
    pytest.skip("missing package av: pip install av")

def test_by_importorskip():
    pytest.importorskip("no_such_module.below")

def test_no_hardware():
    pytest.skip("no GPU on this computer")
"""
MODULE_SKIP = """
import pytest
pytest.importorskip("no_such_module")
def test_never_reached(): pass
"""


def outcomes(tmp_path: Path, tests: str, *options: str) -> tuple[int, int]:
    """The number of these tests that failed (in any phase), and of those that were skipped."""
    (tmp_path / "test_it.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    plugins = str(ROOT / "devtools" / "pytest_plugins")
    answer = subprocess.run(
        command,
        cwd=tmp_path,
        env={"PYTHONPATH": plugins},
        capture_output=True,
        text=True,
        check=False,
    )
    numbers = {
        word: int(n) for n, word in re.findall(r"(\d+) (failed|error|skipped)", answer.stdout)
    }
    return numbers.get("failed", 0) + numbers.get("error", 0), numbers.get("skipped", 0)


def test_without_the_plugin_all_are_skips(tmp_path: Path) -> None:
    assert outcomes(tmp_path, FOUR_SKIPS) == (0, 4)


def test_skips_for_missing_packages_fail(tmp_path: Path) -> None:
    assert outcomes(tmp_path, FOUR_SKIPS, "-p", "samebytes_strict") == (3, 1)


@pytest.mark.parametrize("name", ["torch", "av", "no_such_module"])
def test_an_exception_stays_a_skip(tmp_path: Path, name: str) -> None:
    options = ("-p", "samebytes_strict", f"--may-miss={name}")
    assert outcomes(tmp_path, FOUR_SKIPS, *options) == (2, 2)


def test_a_missing_device_is_a_failure_and_names_may_be_spelled_either_way(
    tmp_path: Path,
) -> None:
    tests = """
import pytest

def test_device(): pytest.skip("missing device NPU: pytest --softdevices=npu")
def test_package(): pytest.skip("missing package samebytes-dma: pip install samebytes-dma")
"""
    options = ("-p", "samebytes_strict", "--may-miss=samebytes_dma")
    assert outcomes(tmp_path, tests) == (0, 2)
    assert outcomes(tmp_path, tests, *options) == (1, 1)


def test_a_skipped_module_is_an_error(tmp_path: Path) -> None:
    options = ("-p", "samebytes_strict")
    assert outcomes(tmp_path, MODULE_SKIP, *options) == (1, 0)
    assert outcomes(tmp_path, MODULE_SKIP, *options, "--may-miss=no_such_module") == (0, 1)
