# SPDX-License-Identifier: Apache-2.0
"""The plan by which libva finds the driver, and the errors if it cannot."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from samebytes_softdevices import SoftDeviceError, _va
from samebytes_softdevices._libraries import installed
from samebytes_softdevices._plan import Plan

Run = Callable[..., "subprocess.CompletedProcess[str]"]

OPEN = """
from samebytes_softdevices.va_surfaces import create_surface
print(create_surface("NV12", 64, 64).id)
"""
ACTIVATE = """
from samebytes_softdevices._activate import activate_in_process
from samebytes_softdevices._devices import plan_for
activate_in_process(plan_for(["vaapi"]))
activate_in_process(plan_for(["vaapi"]))
"""


def test_the_plan_names_the_driver(vaapi: Plan) -> None:
    folder = Path(vaapi.environment["LIBVA_DRIVERS_PATH"])
    assert (folder / f"{vaapi.environment['LIBVA_DRIVER_NAME']}_drv_video.so").is_file()
    assert vaapi.environment["SAMEBYTES_VAAPI_DEVICE"] == "/dev/null"


@pytest.mark.usefixtures("vaapi")
def test_a_missing_libva_is_reported_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_va, "_NEEDED", ("libva.so.2.none",))
    with pytest.raises(SoftDeviceError, match=r"libva\.so\.2\.none is missing: apt install libva2"):
        _va.plan()


def test_libraries_of_the_path_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libva.so.2").write_bytes(b"")
    monkeypatch.setenv("LD_LIBRARY_PATH", f":{tmp_path / 'none'}:{tmp_path}")
    assert installed("libva.so.2")[0] == tmp_path / "libva.so.2"
    assert installed("libnone.so.7") == ()


@pytest.mark.usefixtures("vaapi")
def test_run_gives_a_program_the_driver(run: Run) -> None:
    start = (sys.executable, "-m", "samebytes_softdevices", "run", "--vaapi", "--")
    done = run(*start, *start, sys.executable, "-c", OPEN)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


@pytest.mark.usefixtures("vaapi")
def test_a_process_that_runs_gets_the_driver_and_so_do_its_children(run: Run) -> None:
    child = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {OPEN!r}], check=True)"
    done = run(sys.executable, "-c", f"{ACTIVATE}\n{OPEN}\nsys = 0\n{child}")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 2


@pytest.mark.usefixtures("vaapi")
def test_too_late_is_reported(run: Run) -> None:
    early = "import ctypes; ctypes.CDLL('libva-drm.so.2')"
    done = run(sys.executable, "-c", f"{early}\n{ACTIVATE}")
    assert "already loaded: some framework was imported before" in done.stderr


@pytest.mark.usefixtures("vaapi")
def test_all_devices_go_together(run: Run) -> None:
    from samebytes_softdevices._devices import DEVICES, plan_of

    try:
        plans = [plan_of(name) for name in DEVICES]
    except SoftDeviceError as error:
        pytest.skip(f"missing device: {error}")
    options = [f"--{name}" for name in DEVICES]
    assert len(plans) == len(options) == 4
    start = (sys.executable, "-m", "samebytes_softdevices", "run", *options, "--")
    assert run(*start, sys.executable, "-c", OPEN).returncode == 0
