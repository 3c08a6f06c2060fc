# SPDX-License-Identifier: Apache-2.0
"""The C code by itself, under sanitizers and valgrind."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

CSRC = Path(__file__).parents[2] / "csrc"
SOURCES = sorted([*(CSRC / "npu").glob("*.c"), *(CSRC / "faults").glob("*.c")])
PROGRAMS = Path(__file__).parent / "c"
# Undefined behaviour ends the program as well, instead of a line that nobody reads.
SANITIZERS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
    "none": [],
}

Build = Callable[[str, str], Path]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not SOURCES,
        reason="the C sources lie in the repository, and this is a test of the wheel",
    ),
]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile a program together with the driver, once."""
    folder = tmp_path_factory.mktemp("programs")

    def build(program: str, sanitizer: str) -> Path:
        if shutil.which("gcc") is None or not Path("/usr/include/level_zero/ze_api.h").is_file():
            pytest.skip("missing package libze-dev: apt install gcc libze-dev")
        made = folder / f"{program}-{sanitizer}"
        flags = ["-std=gnu11", "-O1", "-g", "-pthread", "-Wall", "-Wextra", "-Werror"]
        if not made.exists():
            subprocess.run(
                [
                    *("gcc", *flags, *SANITIZERS[sanitizer]),
                    *(*map(str, SOURCES), str(PROGRAMS / f"{program}.c")),
                    *("-o", str(made), "-ldl"),
                ],
                check=True,
                timeout=300,
            )
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


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize("delay", ["0", "2000"])
def test_the_driver_under_sanitizers(build: Build, sanitizer: str, delay: str) -> None:
    run(str(build("check_driver", sanitizer)), SOFTNPU_DELAY_US=delay)


# Not under sanitizers: in a forked child they may wait for their own locks, as for malloc().
@pytest.mark.parametrize("delay", ["0", "200"])
def test_children_that_are_forked_while_the_device_works(build: Build, delay: str) -> None:
    run(str(build("check_fork", "none")), SOFTNPU_DELAY_US=delay)


def test_the_parsers_under_sanitizers(build: Build) -> None:
    run(str(build("check_parsers", "address")))


def test_the_driver_under_valgrind(build: Build) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("missing package valgrind: apt install valgrind")
    run(
        "valgrind",
        "--quiet",
        "--error-exitcode=9",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite,indirect,possible",
        str(build("check_driver", "none")),
        SOFTNPU_DELAY_US="1000",
    )
