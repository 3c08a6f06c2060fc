# SPDX-License-Identifier: Apache-2.0
"""pytest in the lab: the choice of tests, and the judgement of their outcome."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from devtools import pytest_run
from devtools.lab.buffers import live_buffers
from devtools.lab.kernel import get_kernel
from devtools.lab.machine import RESULTS, Ended, Size, boot, find_tools
from devtools.results import Result, summary
from devtools.venv import PYTHON
from devtools.workspace import ROOT, source_files

DEVICES = ("vaapi",)
MARK = "dmabuf"


def lab(
    arguments: Sequence[str] = (),
    *,
    strict: bool,
    may_miss: Sequence[str] = (),
    size: Size | None = None,
) -> Result:
    """Run the tests marked `dmabuf` in the guest; `arguments` go to pytest.

    Raises:
        LabUnavailableError: this machine has no lab.
    """
    size = size or Size()
    tools, kernel = find_tools(), get_kernel()
    command: list[str | Path] = [
        *(PYTHON, "-m", "pytest", "-p", "no:cacheprovider"),
        *("-p", "devtools.lab.pytest_plugin", f"--leftovers={RESULTS / 'leftovers'}"),
        f"--junitxml={RESULTS / 'junit.xml'}",
        *pytest_run.options(strict=strict, may_miss=may_miss),
        *chosen(arguments),
    ]
    print(f"in a guest with Linux {kernel.release} $ {shlex.join(map(str, command))}", flush=True)
    with boot(
        tools, kernel, command, cwd=ROOT, environment=pytest_run.ENVIRONMENT, size=size
    ) as ended:
        return judged(ended, size)


def chosen(arguments: Sequence[str]) -> list[str]:
    """pytest's arguments, with the usual mark, devices and files if none are given."""
    words = list(arguments)
    if not any(word.startswith("-m") for word in words):
        words += ["-m", MARK]
    if not any(word.startswith("--softdevices") for word in words):
        words += pytest_run.on(DEVICES, strict=True)
    if not any((ROOT / word.partition("::")[0]).exists() for word in words):
        words += marked_files()
    return words


def marked_files() -> list[str]:
    """The test files that name the mark; the guest is too slow to look through all others."""
    tests = (path for path in source_files(".py") if path.name.startswith("test_"))
    own = Path("devtools")
    return [
        str(path.relative_to(ROOT))
        for path in tests
        if f"mark.{MARK}" in path.read_text() and own not in path.relative_to(ROOT).parents
    ]


def judged(ended: Ended, size: Size) -> Result:
    """The result of a run in a guest, from the way it ended."""
    if ended.timed_out:
        return Result("lab", False, f"stopped after {size.timeout:.0f} s (--timeout)")
    if ended.status is None:
        print(ended.console)
        return Result("lab", False, "the guest ended without a status; its console is above")
    text = summary(ended.folder / "junit.xml", ended.status)
    left = leftovers(ended.folder)
    for line in left:
        print(f"left over: {line}")
    if left:
        text += f"; {len(left)} DMA-BUFs left over: {'; '.join(left)}"
    return Result("lab", ended.status == 0 and not left, text)


def leftovers(folder: Path) -> list[str]:
    """The DMA-BUFs that outlived the tests, or even pytest's own process."""
    before, after = (
        live_buffers((folder / f"buffers-{when}").read_text()) for when in ("before", "after")
    )
    in_pytest = folder / "leftovers"
    found = in_pytest.read_text().splitlines() if in_pytest.exists() else []
    found += [
        f"{buffer}, after all processes of pytest"
        for inode, buffer in after.items()
        if inode not in before
    ]
    return found
