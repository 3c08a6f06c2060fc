# SPDX-License-Identifier: Apache-2.0
"""The C code by itself, under sanitizers and valgrind."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCES = sorted((HERE.parents[1] / "csrc" / "cuda").glob("*.c"))
CHECK = HERE / "c" / "check.c"
# Undefined behaviour ends the program as well, instead of a line that nobody reads.
SANITIZERS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
    "none": [],
}

Build = Callable[[str], Path]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not SOURCES,
        reason="the C sources lie in the repository, and this is a test of the wheel",
    ),
]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Compile the checks together with the driver."""

    def build(sanitizer: str) -> Path:
        if shutil.which("gcc") is None:
            pytest.skip("missing package gcc: apt install gcc libc6-dev")
        made = tmp_path / sanitizer
        flags = ["-std=gnu11", "-O1", "-g", "-pthread", "-Wall", "-Wextra", "-Werror"]
        sources = [str(path) for path in (*SOURCES, CHECK)]
        command = ["gcc", *flags, *SANITIZERS[sanitizer], *sources, "-ldl", "-o", str(made)]
        subprocess.run(command, check=True, timeout=300)
        return made

    return build


def run(*command: str, **environment: str) -> None:
    done = subprocess.run(
        command,
        env={**os.environ, "LD_PRELOAD": "", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.parametrize("waits", ["0", "1"])
@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_the_driver_under_sanitizers(build: Build, sanitizer: str, waits: str) -> None:
    run(str(build(sanitizer)), SOFTCUDA_WAITS=waits)


# Not under sanitizers: in a forked child they may wait for their own locks, as for malloc().
def test_children_that_are_forked_while_streams_work(build: Build) -> None:
    run(str(build("none")), "forks")


def test_the_driver_under_valgrind(build: Build) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("missing package valgrind: apt install valgrind")
    run(
        "valgrind",
        "--quiet",
        "--error-exitcode=9",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite,indirect",  # the stacks of living threads are possible
        str(build("none")),
    )
