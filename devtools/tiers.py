# SPDX-License-Identifier: Apache-2.0
"""The test tiers: all distributions together, and each one alone as its users install it."""

import os
import shutil
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devtools.environment import PIP_INSTALL, PYTHON, create_venv
from devtools.workspace import CORE, DISTRIBUTIONS, ROOT, CommandError, Distribution, must, run

# Tests use them together only: alone, a distribution has what its users have.
_ARRAY_LIBRARIES = ("jax", "ml_dtypes", "torch")
ALL_DEVICES = ("gpu", "npu")
_PLUGINS = ROOT / "devtools" / "pytest_plugins"


@dataclass(frozen=True)
class Result:
    """How one tier, or one distribution of it, ended."""

    name: str
    ok: bool
    summary: str

    def __str__(self) -> str:
        return f"{'ok    ' if self.ok else 'FAILED'} {self.name}: {self.summary}"


def together(
    arguments: Sequence[str],
    *,
    devices: Sequence[str] = ALL_DEVICES,
    strict: bool,
    may_miss: Sequence[str],
) -> Result:
    """Every distribution's tests and tests/, in .venv, on software devices.

    `arguments` go to pytest.
    """
    return _pytest(
        "together", PYTHON, ROOT, [*_on(devices), *arguments], strict=strict, may_miss=may_miss
    )


def alone(*, strict: bool) -> list[Result]:
    """Every distribution's tests against its wheel, each in a fresh venv of its own.

    The wheels are built from the sdists, so a file that an sdist lacks shows here.
    """
    with tempfile.TemporaryDirectory(prefix="samebytes-alone-") as folder:
        wheelhouse = Path(folder, "wheelhouse")
        build = (PYTHON, "-m", "build", "--no-isolation", "--outdir", wheelhouse)
        try:
            for distribution in DISTRIBUTIONS:
                must([*build, distribution.path])
        except CommandError as error:
            return [Result("alone", False, str(error))]
        return [_alone(d, Path(folder), wheelhouse, strict=strict) for d in DISTRIBUTIONS]


def _alone(distribution: Distribution, folder: Path, wheelhouse: Path, *, strict: bool) -> Result:
    name = f"alone {distribution.name}"
    place = folder / distribution.name
    python = place / "venv" / "bin" / "python"
    names = {CORE.name, *distribution.alone_with, distribution.name}
    # By path, never by name: an index must not answer for a distribution of this repository.
    wheels = [_wheel(d, wheelhouse) for d in DISTRIBUTIONS if d.name in names]
    try:
        create_venv(place / "venv")
        must([python, *PIP_INSTALL, *wheels])
    except CommandError as error:
        return Result(name, False, str(error))
    # Away from the source tree, so that only what is installed can be imported.
    shutil.copytree(distribution.path / "tests", place / "tests")
    shutil.copy(ROOT / "pyproject.toml", place)
    result = _pytest(
        name,
        python,
        place,
        [*_on(distribution.devices), "-m", "not hardware", "tests"],
        strict=strict,
        may_miss=[
            *_ARRAY_LIBRARIES,
            *(module for d in DISTRIBUTIONS if d.name not in names for module in d.brings),
        ],
    )
    shutil.rmtree(place)
    return result


def _on(devices: Sequence[str]) -> list[str]:
    """The option that lets tests run on software devices."""
    return [f"--softdevices={','.join(devices)}"] if devices else []


def _wheel(distribution: Distribution, wheelhouse: Path) -> str:
    (wheel,) = wheelhouse.glob(f"{distribution.name.replace('-', '_')}-*.whl")
    return f"{wheel}{distribution.requirement_suffix}"


def _pytest(
    name: str,
    python: Path,
    cwd: Path,
    arguments: Sequence[str],
    *,
    strict: bool,
    may_miss: Sequence[str],
) -> Result:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTEST_ADDOPTS")}
    environment |= {"PYTHONNOUSERSITE": "1", "SAMEBYTES_STRICT": "1"}
    options: list[str] = []
    if strict:
        environment["PYTHONPATH"] = str(_PLUGINS)
        options = ["-p", "samebytes_strict", "--continue-on-collection-errors"]
        options += [f"--may-miss={package}" for package in may_miss]
    with tempfile.TemporaryDirectory() as reports:
        report = Path(reports, "junit.xml")
        options += [f"--junitxml={report}", *arguments]
        status = run([python, "-m", "pytest", *options], cwd=cwd, env=environment)
        return Result(name, status == 0, summary(report, status))


def summary(report: Path, status: int) -> str:
    """One line about the JUnit report of a pytest run that ended with `status`."""
    if not report.exists():
        return f"pytest ended with status {status} before any test"
    suites = list(ET.parse(report).getroot().iter("testsuite"))
    count = {
        key: sum(int(suite.get(key, 0)) for suite in suites)
        for key in ("tests", "failures", "errors", "skipped")
    }
    failed = count["failures"] + count["errors"]
    passed = count["tests"] - failed - count["skipped"]
    seconds = sum(float(suite.get("time", 0)) for suite in suites)
    text = f"{passed} passed, {failed} failed, {count['skipped']} skipped in {seconds:.0f} s"
    return text if count["tests"] else "no tests were found"
