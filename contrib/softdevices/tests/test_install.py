# SPDX-License-Identifier: Apache-2.0
"""Wheels and installations, with a compiler and without, and what their users see."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARIES = (
    "libsoftgpu.so", "libsoftnpu.so", "softva_drv_video.so", "libsoftcuda.so", "libsoftva_drm.so",
    "libsoftfaults.so",
)  # fmt: skip
pytestmark = [
    pytest.mark.wheel,
    pytest.mark.skipif(
        not (ROOT / "csrc").exists(),
        reason="the C sources lie in the repository, and this is a test of the wheel",
    ),
]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source tree: building writes into it."""
    copy = tmp_path_factory.mktemp("source") / "softdevices"
    ignored = shutil.ignore_patterns("_lib", "__pycache__", "dist")
    shutil.copytree(ROOT, copy, ignore=ignored)
    return copy


def build_wheel(source: Path, target: Path, hook: str = "build_wheel", **environment: str) -> Path:
    """Build as pip does, without a network."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("missing package hatchling: pip install hatchling")
    script = f"from hatchling import build; print(build.{hook}({str(target)!r}))"
    variables = {name: value for name, value in os.environ.items() if name != "CC"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=source,
        env={**variables, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target / done.stdout.splitlines()[-1]


def libraries_in(wheel: Path) -> list[str]:
    folder = "samebytes_softdevices/_lib/"
    names = zipfile.ZipFile(wheel).namelist()
    return sorted(name.removeprefix(folder) for name in names if name.startswith(folder))


def test_a_wheel_made_from_the_sdist_holds_the_libraries(source: Path, tmp_path: Path) -> None:
    """They compile without a warning."""
    if shutil.which("gcc") is None:
        pytest.skip("missing package gcc: apt install gcc")
    sdist = build_wheel(source, tmp_path, "build_sdist")
    shutil.unpack_archive(sdist, tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    wheel = build_wheel(unpacked, tmp_path, CC="gcc -Werror")
    assert "-py3-none-linux_" in wheel.name
    with zipfile.ZipFile(wheel) as opened:
        notes = [opened.read(n).decode() for n in opened.namelist() if n.endswith(".missing")]
        assert notes == []
        assert not [name for name in opened.namelist() if name.endswith(".c")]
    assert libraries_in(wheel) == sorted(LIBRARIES)


@pytest.fixture(scope="module")
def without_compiler(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the package lies that was built where no compiler is."""
    place = tmp_path_factory.mktemp("without")
    for hook in ("build_editable", "build_wheel"):
        # The editable one first: its libraries lie in the source tree, from which a wheel is made.
        wheel = build_wheel(source, place, hook, PATH=str(place))
    assert "-py3-none-linux_" in wheel.name  # a wheel for any platform would be a complete one
    assert libraries_in(wheel) == sorted(f"{name}.missing" for name in LIBRARIES)
    notes = source / "src/samebytes_softdevices/_lib"
    assert sorted(path.name for path in notes.iterdir()) == libraries_in(wheel)
    zipfile.ZipFile(wheel).extractall(place / "site")
    return place / "site"


def test_check_says_what_is_missing_and_how_to_get_it(without_compiler: Path, run: Run) -> None:
    python = (sys.executable, "-m", "samebytes_softdevices")
    done = run(*python, "check", PYTHONPATH=str(without_compiler))
    assert done.returncode == 1
    assert done.stderr == ""
    reasons = done.stdout.splitlines()
    for reason, device, library, package in zip(
        reasons,
        ("gpu", "npu", "vaapi", "cuda"),
        LIBRARIES[:4],
        (" opencl-c-headers", " libze-dev", " libva-dev", ""),
        strict=True,
    ):
        assert reason.startswith(f"not usable: {device}: {library} was not built: there is no C")
        assert f"apt install gcc libc6-dev{package}`" in reason


@pytest.mark.parametrize("device", ["gpu", "npu", "vaapi", "cuda"])
def test_run_says_so_too(without_compiler: Path, run: Run, device: str) -> None:
    python = (sys.executable, "-m", "samebytes_softdevices")
    done = run(*python, "run", f"--{device}", "--", "true", PYTHONPATH=str(without_compiler))
    assert done.returncode == 127
    assert "was not built: there is no C compiler gcc. Run `apt install gcc" in done.stderr
    assert "Traceback" not in done.stderr


# Of the package without libraries; the one that is installed has a plugin of the same name.
PYTEST = (
    *(sys.executable, "-m", "pytest", "-q", "-p", "no:samebytes-softdevices"),
    *("-p", "samebytes_softdevices._pytest_plugin", "-p", "no:cacheprovider"),
)
TEST = """
import pytest
def test_device(): pytest.skip("missing device GPU: pytest --softdevices=gpu")
def test_other(): pass
"""


def test_pytest_ends_with_the_reason(without_compiler: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    command = (*PYTEST, "--softdevices=gpu,npu", str(tmp_path))
    done = run(*command, PYTHONPATH=str(without_compiler))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--softdevices=gpu,npu: libsoftgpu.so was not built: there is no C" in done.stderr


def test_pytest_goes_on_where_devices_are_optional(
    without_compiler: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    command = (*PYTEST, "--softdevices=gpu,npu", "--softdevices-optional", str(tmp_path))
    done = run(*command, PYTHONPATH=str(without_compiler))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 skipped" in done.stdout
    for line in (
        "missing device GPU: libsoftgpu.so was not built: there is no C compiler gcc. Run `apt",
        "missing device NPU: libsoftnpu.so was not built: there is no C compiler gcc. Run `apt",
    ):
        assert line in done.stdout


def test_pytest_refuses_an_unknown_device_where_devices_are_optional(
    run: Run, tmp_path: Path
) -> None:
    command = (sys.executable, "-m", "pytest", "--softdevices=tpu", "--softdevices-optional")
    done = run(*command, str(tmp_path))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--softdevices=tpu: unknown software device 'tpu'" in done.stderr
