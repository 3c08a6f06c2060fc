# SPDX-License-Identifier: Apache-2.0
"""The test tiers: all distributions together, each one alone, and on real devices."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devtools.environment import PIP_INSTALL, PYTHON, create_venv, why_left_out
from devtools.pytest_run import on, pytest_run
from devtools.results import Result, not_run
from devtools.workspace import CORE, DISTRIBUTIONS, ROOT, CommandError, Distribution, must

# Tests use them together only: alone, a distribution has what its users have.
_ARRAY_LIBRARIES = ("jax", "ml_dtypes", "torch")
ALL_DEVICES = ("gpu", "npu", "vaapi")
# Tests of several distributions that take a device as they find it.
_ACROSS_DEVICES = ("tests/e2e", "tests/matrix/test_device_matrix.py")
# Its tests are of the software devices themselves.
_SOFTDEVICES = "samebytes-softdevices"


def together(arguments: Sequence[str], *, strict: bool, may_miss: Sequence[str]) -> Result:
    """Every distribution's tests and tests/, in .venv, on software devices.

    `arguments` go to pytest.
    """
    devices = on(ALL_DEVICES)
    return pytest_run("together", PYTHON, [*devices, *arguments], strict=strict, may_miss=may_miss)


def hardware(arguments: Sequence[str], *, strict: bool, may_miss: Sequence[str]) -> Result:
    """The tests that software devices serve elsewhere, on this machine's own devices.

    Without a device its tests skip and say so, which in a strict run is a failure.
    """
    suites = [f"{d.folder}/tests" for d in DISTRIBUTIONS if d.devices and d.name != _SOFTDEVICES]
    paths = [*suites, *_ACROSS_DEVICES]
    if any((ROOT / word.partition("::")[0]).exists() for word in arguments):
        paths = []
    return pytest_run("hardware", PYTHON, [*paths, *arguments], strict=strict, may_miss=may_miss)


def alone(*, strict: bool) -> list[Result]:
    """Every distribution's tests against its wheel, each in a fresh venv of its own.

    The wheels are built from the sdists, so a file that an sdist lacks shows here.
    """
    with tempfile.TemporaryDirectory(prefix="samebytes-alone-") as folder:
        wheelhouse = Path(folder, "wheelhouse")
        build = (PYTHON, "-m", "build", "--no-isolation", "--outdir", wheelhouse)
        for distribution in DISTRIBUTIONS:
            must([*build, distribution.path])
        return [_alone(d, Path(folder), wheelhouse, strict=strict) for d in DISTRIBUTIONS]


def _alone(distribution: Distribution, folder: Path, wheelhouse: Path, *, strict: bool) -> Result:
    name = f"alone {distribution.name}"
    reason = why_left_out(distribution)
    if reason:
        return Result(name, False, reason) if strict else not_run(name, reason)
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
    for shared in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / shared, place)
    result = pytest_run(
        name,
        python,
        [*on(distribution.devices), "tests"],
        cwd=place,
        strict=strict,
        may_miss=[
            *_ARRAY_LIBRARIES,
            *(module for d in DISTRIBUTIONS if d.name not in names for module in d.brings),
        ],
    )
    shutil.rmtree(place)
    return result


def _wheel(distribution: Distribution, wheelhouse: Path) -> str:
    (wheel,) = wheelhouse.glob(f"{distribution.name.replace('-', '_')}-*.whl")
    return f"{wheel}{distribution.requirement_suffix}"
