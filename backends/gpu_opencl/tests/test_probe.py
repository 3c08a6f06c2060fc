# SPDX-License-Identifier: Apache-2.0
"""What the probe says of each missing piece, and that nothing crashes without a driver."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyopencl as cl
import pytest

from samebytes_gpu_opencl import _probe
from samebytes_gpu_opencl._probe import probe

ASK = """
from samebytes_gpu_opencl._probe import probe
result = probe()
print(result.usable, result.reason, result.hint, sep="|")
"""


def test_usable(device_name: str) -> None:
    result = probe()
    assert result.usable, result
    assert device_name
    assert result.reason == result.details["devices"]
    assert "libOpenCL.so.1" in result.details


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    result = probe()
    assert not result.usable
    assert result.hint == 'pip install "samebytes[opencl]"'


def test_no_driver(child: Callable[..., str]) -> None:
    answer = child(ASK, OCL_ICD_VENDORS="/nonexistent")
    usable, reason, hint = answer.strip().split("|")
    assert usable == "False"
    assert "no OpenCL driver is registered in /nonexistent" in reason
    assert "samebytes-softdevices[gpu]" in hint or "OCL_ICD_VENDORS" in hint


def test_a_placeholder_path(child: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "wheel.icd").write_text("/opt/anaconda1anaconda2/lib/libintelocl.so\n")
    usable, reason, hint = child(ASK, OCL_ICD_VENDORS=str(tmp_path)).split("|")
    assert usable == "False"
    assert "placeholder" in reason
    assert str(tmp_path / "wheel.icd") in hint


def test_a_library_that_cannot_be_loaded(child: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "libintelocl.so").write_text("no library")
    (tmp_path / "broken.icd").write_text(str(tmp_path / "libintelocl.so"))
    usable, reason, hint = child(ASK, OCL_ICD_VENDORS=str(tmp_path)).split("|")
    assert usable == "False"
    assert "cannot be loaded" in reason
    assert "intel-cmplr-lib-rt" in hint


class Platform:
    """A driver that has no device."""

    name = "Some Driver"

    def get_devices(self) -> list[Any]:
        raise cl.RuntimeError("DEVICE_NOT_FOUND")


def test_a_platform_without_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cl, "get_platforms", lambda: [Platform()])
    result = probe()
    assert not result.usable
    assert "Some Driver" in result.reason
    assert "render" in result.hint


def test_the_loader_that_others_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_probe, "_LOADER", "libNoSuchOpenCL.so.1")
    assert "ocl-icd-libopencl1" in _probe._loader_state()


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
