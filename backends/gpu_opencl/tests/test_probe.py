# SPDX-License-Identifier: Apache-2.0
"""The probe's answer for each missing piece; nothing crashes without a driver."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyopencl as cl
import pytest

import samebytes
from samebytes.plugins import ProbeResult, advice_to_open

Probe = Callable[[], ProbeResult]


def test_usable(device_name: str, probe: Probe) -> None:
    result = probe()
    assert result.usable, result
    assert device_name
    assert result.reason == result.details["devices"]
    assert "libOpenCL.so.1" in result.details


def test_not_installed(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    result = probe()
    assert not result.usable
    assert result.hint == 'pip install "samebytes[opencl]"'


@pytest.fixture
def probe_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ProbeResult]:
    """The probe in a process whose drivers are those of a folder: not a software device either."""

    def run(drivers: str) -> ProbeResult:
        for name in ("OCL_ICD_FILENAMES", "OPENCL_LAYERS", "LD_PRELOAD", "LD_LIBRARY_PATH"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("OCL_ICD_VENDORS", drivers)
        result = samebytes.probe("opencl", timeout=60)
        assert not result.usable
        return result

    return run


def test_no_driver(probe_with: Callable[[str], ProbeResult]) -> None:
    result = probe_with("/nonexistent")
    assert "no OpenCL driver is registered in /nonexistent" in result.reason
    assert "samebytes-softdevices[gpu]" in result.hint or "OCL_ICD_VENDORS" in result.hint


def test_a_placeholder_path(probe_with: Callable[[str], ProbeResult], tmp_path: Path) -> None:
    (tmp_path / "wheel.icd").write_text("/opt/anaconda1anaconda2/lib/libintelocl.so\n")
    result = probe_with(str(tmp_path))
    assert "placeholder" in result.reason
    assert str(tmp_path / "wheel.icd") in result.hint


def test_a_library_that_cannot_be_loaded(
    probe_with: Callable[[str], ProbeResult], tmp_path: Path
) -> None:
    (tmp_path / "libintelocl.so").write_text("no library")
    (tmp_path / "broken.icd").write_text(str(tmp_path / "libintelocl.so"))
    result = probe_with(str(tmp_path))
    assert "cannot be loaded" in result.reason
    assert "intel-cmplr-lib-rt" in result.hint


class Platform:
    """A driver that has no device."""

    name = "Some Driver"

    def get_devices(self) -> list[Any]:
        raise cl.RuntimeError("DEVICE_NOT_FOUND")


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The nodes of /dev/dri, on a machine whose driver has no device."""
    there: list[str] = []
    listed = Path.glob

    def glob(folder: Path, pattern: str) -> Iterator[Path]:
        if folder != Path("/dev/dri"):
            return listed(folder, pattern)
        return (folder / name for name in there if Path(name).match(pattern))

    monkeypatch.setattr(cl, "get_platforms", lambda: [Platform()])
    monkeypatch.setattr(Path, "glob", glob)
    # Root, as whom tests may run, may open all. Nothing looks at card0.
    monkeypatch.setattr("os.access", lambda node, mode: not str(node).endswith(("card0", "D129")))
    return there


def test_a_platform_without_device(probe: Probe, nodes: list[str]) -> None:
    nodes.append("renderD128")
    result = probe()
    assert not result.usable
    assert "Some Driver" in result.reason
    assert result.hint == "check that the device is there: ls -l /dev/dri"


def test_a_node_that_the_user_may_not_open(probe: Probe, nodes: list[str]) -> None:
    nodes += ["card0", "renderD129", "renderD128"]
    assert probe().hint == advice_to_open("/dev/dri/renderD129")


def test_the_loader_that_others_need(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert "ocl-icd-libopencl1" in probe().details["libOpenCL.so.1"]


def test_without_a_driver_there_is_a_clear_error(child: Callable[..., str]) -> None:
    code = (
        "import samebytes, samebytes_gpu_opencl\n"
        "from samebytes.errors import MissingDependencyError, NoRouteError\n"
        "import numpy as np\n"
        "for name in ('opencl', 'opencl:GPU'):\n"
        "    try:\n"
        "        samebytes.context(name)\n"
        "    except MissingDependencyError as error:\n"
        "        print('doctor' in str(error))\n"
        "try:\n"
        "    samebytes.tensor(np.zeros(64, np.uint8)).map('opencl')\n"
        "except MissingDependencyError:\n"
        "    print(True)\n"
    )
    printed = child(code, OCL_ICD_VENDORS="/nonexistent")
    assert printed.split() == ["True"] * 3


def test_importing_loads_no_opencl(child: Callable[..., str]) -> None:
    code = (
        "import samebytes, samebytes_gpu_opencl, samebytes_gpu_opencl._plugin\n"
        "import sys, pathlib\n"
        "samebytes.installed_plugins()\n"
        "maps = pathlib.Path('/proc/self/maps').read_text()\n"
        "print('pyopencl' in sys.modules, 'libOpenCL-' in maps)\n"
    )
    assert child(code).split() == ["False", "False"]
