# SPDX-License-Identifier: Apache-2.0
"""The suites of tests: all distributions together, each one alone, and on real devices."""

import shutil
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from devtools import pip
from devtools.environment import why_left_out
from devtools.pytest_run import few, on, pytest_run
from devtools.results import Result, not_run
from devtools.venv import PYTHON, create_venv
from devtools.wheels import audited, build_all
from devtools.workspace import (
    CORE,
    DISTRIBUTIONS,
    ROOT,
    SOFTDEVICES,
    CommandError,
    Distribution,
    must,
)

# Only tests together use them: alone, a distribution has what its users have.
_OTHERS = (
    "cloudpickle", "jax", "ml_dtypes", "opentelemetry_exporter_prometheus", "opentelemetry_sdk",
    "torch",
)  # fmt: skip
ALL_DEVICES = ("gpu", "npu", "vaapi", "cuda")
# Tests of several distributions that take a device as they find it.
_ACROSS_DEVICES = ("tests/e2e", "tests/matrix/test_device_matrix.py")
# The part of the tests together to which a folder's tests belong; all others belong to the rest.
_PARTS = {"backends": "backends", "contrib": "contrib", "sdk": "sdk", "mappers": "sdk"}


def together(
    arguments: Sequence[str], *, strict: bool, may_miss: Sequence[str], name: str = "together"
) -> Result:
    """Every distribution's tests and tests/, in .venv, on software devices.

    `arguments` go to pytest.
    """
    devices = on(ALL_DEVICES, strict=strict)
    return pytest_run(name, PYTHON, [*devices, *arguments], strict=strict, may_miss=may_miss)


def parts_together() -> dict[str, list[str]]:
    """The folders of the tests together, in parts that take about the same time.

    In one piece, they would run on alone, on one CPU, when all other parts have ended.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    parts: dict[str, list[str]] = {}
    for path in project["tool"]["pytest"]["ini_options"]["testpaths"]:
        parts.setdefault(_PARTS.get(path.partition("/")[0], "rest"), []).append(path)
    return parts


def hardware(arguments: Sequence[str], *, strict: bool, may_miss: Sequence[str]) -> Result:
    """The tests that run elsewhere on software devices, on this machine's own devices.

    Without a device, its tests skip and say so, which is a failure in a strict run.
    """
    suites = [f"{d.folder}/tests" for d in DISTRIBUTIONS if d.devices and d != SOFTDEVICES]
    named = any((ROOT / word.partition("::")[0]).exists() for word in arguments)
    paths = [] if named else [*suites, *_ACROSS_DEVICES]
    return pytest_run("hardware", PYTHON, [*paths, *arguments], strict=strict, may_miss=may_miss)


def alone(*, strict: bool) -> list[Result]:
    """Every distribution's tests against its wheel, each in its own fresh venv.

    It shows that a wheel is complete and needs no other: each test runs with one parameter, and
    tests that take long and do not depend on other packages are left to the tests together.

    The wheels are built from the sdists, so a file that an sdist lacks shows here. Both are checked
    as before a release.
    """
    with tempfile.TemporaryDirectory(prefix="samebytes-alone-") as folder:
        wheelhouse = Path(folder, "wheelhouse")
        build_all(wheelhouse, [d for d in DISTRIBUTIONS if not why_left_out(d.name)])
        results = [audited(wheelhouse, strict=strict)]
        # pip waits for the network half of the time; meanwhile the previous tests run. There are at
        # most two venvs at a time, since some are large.
        ended: list[Future[Result]] = []
        with ThreadPoolExecutor(1) as testing:
            for d in DISTRIBUTIONS:
                ended.append(testing.submit(_alone(d, Path(folder), wheelhouse, strict=strict)))
                if ended[:-1]:
                    ended[-2].result()
        return results + [future.result() for future in ended]


def _alone(
    distribution: Distribution, folder: Path, wheelhouse: Path, *, strict: bool
) -> Callable[[], Result]:
    """Install a distribution, and return a function that runs its tests."""
    name = f"alone {distribution.name}"
    reason = why_left_out(distribution.name)
    if reason:
        return lambda: Result(name, False, reason) if strict else not_run(name, reason)
    place = folder / distribution.name
    python = place / "venv" / "bin" / "python"
    company = [name for name in distribution.alone_with if not why_left_out(name)]
    names = {CORE.name, *company, distribution.name}
    # By path, never by name: an index must not answer for a distribution of this repository.
    installed = [d for d in DISTRIBUTIONS if d.name in names]
    if "gpu" not in distribution.devices:  # the software GPU's extra is hundreds of MB
        installed = [replace(d, extras=()) if d == SOFTDEVICES else d for d in installed]
    wheels = [_wheel(d, wheelhouse) for d in installed]
    # Named here too: pip would build the newest PyGObject to see its requirements before it
    # learns from an extra that only older ones will do.
    limits = [text for d in installed for text in _limits(d)]
    try:
        create_venv(place / "venv", with_pip=False)
        must([*pip.into(python), "--quiet", *limits, *wheels])
    except CommandError as error:
        failed = Result(name, False, str(error))
        return lambda: failed
    # Away from the source tree, so that only what is installed can be imported.
    shutil.copytree(
        distribution.path / "tests",
        place / "tests",
        ignore=shutil.ignore_patterns("__pycache__"),  # bytecode has paths of the source tree
    )
    for shared in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / shared, place)

    def tests() -> Result:
        result = pytest_run(
            name,
            python,
            [*on(distribution.devices, strict=strict), *few(), "tests"],
            cwd=place,
            strict=strict,
            may_miss=[
                *_OTHERS,
                *(module for d in DISTRIBUTIONS if d.name not in names for module in d.modules),
            ],
        )
        shutil.rmtree(place)
        return result

    return tests


def _limits(distribution: Distribution) -> list[str]:
    """The requirements of its extras on third-party packages."""
    project = tomllib.loads((distribution.path / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {})
    wanted = (text for name in distribution.extras for text in extras.get(name, ()))
    return [text for text in wanted if not text.startswith("samebytes")]


def _wheel(distribution: Distribution, wheelhouse: Path) -> str:
    (wheel,) = wheelhouse.glob(f"{distribution.name.replace('-', '_')}-*.whl")
    extras = ",".join(distribution.extras)
    return f"{wheel}[{extras}]" if extras else f"{wheel}"
