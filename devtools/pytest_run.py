# SPDX-License-Identifier: Apache-2.0
"""One run of pytest, as every tier makes it."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devtools.environment import why_left_out
from devtools.results import Result, summary
from devtools.workspace import ROOT, SOFTDEVICES, run

# Tests that take long, and have the same result whatever else is installed, run only in the tests
# together: tests of this repository with that mark, and these of the kit. Its forks, drop orders,
# lifetimes and exit share a process, which does the work of all of them even for one.
_ONLY_TOGETHER = "together"
_OF_THE_KIT = (
    "test_lifetimes", "test_nothing_stays", "drop_orders", "test_fork", "test_threads",
    "ends_with_its_last_holder", "exit_with_living_mappings", "thousands_of_frames",
)  # fmt: skip
# The slowest tests are named, so that a run that has become slow shows why.
_SLOWEST = ("--durations=15", "--durations-min=5")
PLUGINS = ROOT / "devtools" / "pytest_plugins"

# They would change which tests run, or their imports; without bytecode, each of the thousands of
# processes that tests start would compile everything that it imports.
_NOT_OURS = ("PYTHONPATH", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONDONTWRITEBYTECODE")


def on(devices: Sequence[str], *, strict: bool) -> list[str]:
    """The options that let tests run on software devices, if those are installed.

    A device that cannot be used here, for example without a C compiler, ends a strict run.
    Otherwise the tests that need it skip.
    """
    if not devices or why_left_out(SOFTDEVICES.name):
        return []
    named = f"--softdevices={','.join(devices)}"
    return [named] if strict else [named, "--softdevices-optional"]


def options(*, strict: bool, may_miss: Sequence[str]) -> list[str]:
    """The options of pytest that make skips failures, except for packages that may be missing."""
    exceptions = [f"--may-miss={package}" for package in may_miss]
    chosen = ["-p", "samebytes_strict", "--continue-on-collection-errors", *exceptions]
    return chosen if strict else []


def few(expression: str = "") -> list[str]:
    """The options of a run that shows only whether tests run with other packages around.

    Each test runs with one of its parameters; tests that take long and do not depend on other
    packages are left out. `expression` selects tests (pytest's -k); by default all others.
    """
    chosen = ["-k", expression] if expression else []
    kit = [f"--kit-without={name}" for name in _OF_THE_KIT]
    return ["-p", "samebytes_few", "--few", *kit, "-m", f"not {_ONLY_TOGETHER}", *chosen]


# Set for the tests, in addition to the caller's environment.
ENVIRONMENT = {"PYTHONNOUSERSITE": "1", "PYTHONPATH": str(PLUGINS), "SAMEBYTES_STRICT": "1"}


def pytest_run(
    name: str,
    python: Path,
    arguments: Sequence[str],
    *,
    cwd: Path = ROOT,
    strict: bool,
    may_miss: Sequence[str] = (),
) -> Result:
    """Run pytest with its own folder for temporary files, which is removed afterwards.

    Its name always has "-u" in it, as a random name may: a password may follow that.
    """
    with tempfile.TemporaryDirectory(prefix="samebytes-u-", ignore_cleanup_errors=True) as folder:
        report, scratch = Path(folder, "junit.xml"), Path(folder, "tmp")
        scratch.mkdir()
        kept = {key: value for key, value in os.environ.items() if key not in _NOT_OURS}
        command: list[str | Path] = [
            *(python, "-m", "pytest", f"--junitxml={report}", *_SLOWEST),
            *options(strict=strict, may_miss=may_miss),
            *arguments,
        ]
        status = run(command, cwd=cwd, env=kept | ENVIRONMENT | {"TMPDIR": str(scratch)})
        return Result(name, status == 0, summary(report, status))
