# SPDX-License-Identifier: Apache-2.0
"""What the probe says of each missing piece, and that nothing crashes without a driver."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyopencl as cl
import pytest

from samebytes.plugins import advice_to_open
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


def test_a_platform_without_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cl, "get_platforms", lambda: [Platform()])
    monkeypatch.setattr(_probe, "_NODES", tmp_path)
    (tmp_path / "renderD128").touch()
    result = probe()
    assert not result.usable
    assert "Some Driver" in result.reason
    assert result.hint == "check that the device is there: ls -l /dev/dri"


def test_a_node_that_the_user_may_not_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cl, "get_platforms", lambda: [Platform()])
    monkeypatch.setattr(_probe, "_NODES", tmp_path)
    for name in ("card0", "renderD128", "renderD129"):
        (tmp_path / name).touch()
    ours = str(tmp_path / "renderD129")
    # Root, as whom tests may run, may open all.
    monkeypatch.setattr("os.access", lambda node, mode: str(node) != ours)
    assert probe().hint == advice_to_open(ours)


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
