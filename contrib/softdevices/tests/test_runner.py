# SPDX-License-Identifier: Apache-2.0
"""Plans, and the three ways to put them into effect: run, pytest, in the process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from samebytes_softdevices import SoftDeviceError
from samebytes_softdevices._activate import environment_with
from samebytes_softdevices._command import main
from samebytes_softdevices._devices import plan_for, plan_of
from samebytes_softdevices._plan import Plan, combine
from samebytes_softdevices._private_folder import private_folder

Run = Callable[..., "subprocess.CompletedProcess[str]"]

MODULE = (sys.executable, "-m", "samebytes_softdevices")
# Prints the devices that Khronos' loader shows, by ctypes alone.
DEVICES = """
import ctypes
cl = ctypes.CDLL('libOpenCL.so.1')
platform, device = ctypes.c_void_p(), ctypes.c_void_p()
assert cl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
assert cl.clGetDeviceIDs(platform, ctypes.c_uint64(4), 1, ctypes.byref(device), None) == 0
name = ctypes.create_string_buffer(200)
assert cl.clGetDeviceInfo(device, 0x102B, 200, name, None) == 0
print(name.value.decode())
"""


@pytest.fixture
def gpu() -> Plan:
    try:
        return plan_of("gpu")
    except SoftDeviceError as error:
        pytest.skip(f"missing device GPU: {error}")


def test_plans_are_combined_in_order() -> None:
    one = Plan({"A": "1"}, (Path("/a"),), (Path("/x"),), (Path("/t"),), ("libl.so",), "one")
    two = Plan({"A": "1", "B": "2"}, (Path("/b"), Path("/a")), (Path("/y"),), (), (), "two")
    both = combine([one, two])
    assert both.environment == {"A": "1", "B": "2"}
    assert both.search == (Path("/a"), Path("/b"))
    assert both.preload == (Path("/x"), Path("/y"))
    assert both.interpose == (Path("/t"),)
    assert both.too_late == ("libl.so",)
    assert both.describes == "one, two"


def test_plans_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(SoftDeviceError, match=r"different values for A: '1' and '2'"):
        combine([Plan({"A": "1"}), Plan({"A": "2"})])


def test_a_device_nobody_knows_is_refused() -> None:
    with pytest.raises(SoftDeviceError, match="unknown software device 'tpu'; known: cuda, gpu"):
        plan_for(["tpu"])


def test_folders_come_first_and_once() -> None:
    plan = Plan({"A": "1"}, search=(Path("/a"), Path("/b")), interpose=(Path("/t.so"),))
    before = {"LD_LIBRARY_PATH": "/c:/b::/d", "LD_PRELOAD": "/u.so /v.so", "KEPT": "yes"}
    after = environment_with(plan, before)
    assert after == {
        "A": "1",
        "KEPT": "yes",
        "LD_LIBRARY_PATH": "/a:/b:/c:/d",
        "LD_PRELOAD": "/t.so:/u.so:/v.so",
    }
    assert environment_with(plan, after) == after
    assert environment_with(Plan(), before) == before


def test_paths_that_cannot_stand_in_a_list_are_refused() -> None:
    for path in (Path("/a b/t.so"), Path("/a:b/t.so")):
        with pytest.raises(SoftDeviceError, match="a colon or a space"):
            environment_with(Plan(interpose=(path,)), {})


def test_a_private_folder_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    target = tmp_path / "target"
    target.write_text("content")
    folder = private_folder({"lib/name.so": target}, {"icd/a.icd": "text"})
    assert (folder / "lib/name.so").read_text() == "content"
    assert (folder / "icd/a.icd").read_text() == "text"
    assert private_folder({"lib/name.so": target}, {"icd/a.icd": "text"}) == folder
    assert private_folder({"lib/name.so": target}, {"icd/a.icd": "other"}) != folder
    assert len(list(folder.parent.iterdir())) == 2


def test_a_damaged_folder_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    files = {"a.icd": "one", "b.icd": "two"}
    folder = private_folder({}, files)
    (folder / "b.icd").unlink()
    assert private_folder({}, files) == folder
    assert (folder / "b.icd").read_text() == "two"
    assert list(folder.parent.iterdir()) == [folder]


def test_without_a_cache_the_folder_is_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = private_folder({}, {"a.icd": "text"})
    assert folder.parent == tmp_path
    assert (folder / "a.icd").read_text() == "text"


def test_run_needs_a_device_and_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--", "true"]) == 2
    assert "a device is missing" in capsys.readouterr().err
    assert main(["run", "--gpu", "--"]) == 2
    assert "a command is missing" in capsys.readouterr().err


def test_a_missing_runtime_is_reported_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from importlib.metadata import PackageNotFoundError

    def nothing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("samebytes_softdevices._gpu.distribution", nothing)
    monkeypatch.setattr("samebytes_softdevices._gpu.library", Path)
    assert main(["run", "--gpu", "--", "true"]) == 127
    assert "pip install intel-opencl-rt==" in capsys.readouterr().err


@pytest.mark.usefixtures("gpu")
def test_another_version_of_the_runtime_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(sys.modules["samebytes_softdevices._gpu"])["_VERSIONS"], "tbb", "1.0")
    with pytest.raises(SoftDeviceError, match=r"needs tbb 1\.0, found "):
        plan_of("gpu")


def test_a_library_that_was_not_built_is_reported_with_the_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from samebytes_softdevices import _libraries

    monkeypatch.setattr(_libraries, "_FOLDER", tmp_path)
    with pytest.raises(SoftDeviceError, match="not installed by pip"):
        _libraries.library("libsoftgpu.so")
    (tmp_path / "libsoftgpu.so.missing").write_text("Run `apt install gcc`.\n")
    with pytest.raises(SoftDeviceError, match=r"^Run `apt install gcc`\.$"):
        _libraries.library("libsoftgpu.so")


@pytest.mark.usefixtures("gpu")
def test_run_starts_a_command_on_the_gpu(run: Run) -> None:
    done = run(*MODULE, "run", "--gpu", "--", sys.executable, "-c", DEVICES)
    assert "samebytes software GPU" in done.stdout, done.stderr


@pytest.mark.usefixtures("gpu")
def test_run_within_run_changes_nothing(run: Run) -> None:
    show = (sys.executable, "-c", "import os; print(sorted(os.environ.items()))")
    once = run(*MODULE, "run", "--gpu", "--", *show)
    twice = run(*MODULE, "run", "--gpu", "--", *MODULE, "run", "--gpu", "--", *show)
    assert once.stdout == twice.stdout
    assert "OPENCL_LAYERS" in once.stdout


@pytest.mark.usefixtures("gpu")
def test_run_gives_the_commands_status(run: Run) -> None:
    assert run(*MODULE, "run", "--gpu", "--", sys.executable, "-c", "exit(7)").returncode == 7
    missing = run(*MODULE, "run", "--gpu", "--", "no-such-command")
    assert missing.returncode == 127
    assert "cannot run no-such-command: No such file or directory" in missing.stderr


def test_check_reports_what_is_ready(gpu: Plan, run: Run) -> None:
    assert f"ready: {gpu.describes}\n" in run(*MODULE, "check").stdout


@pytest.mark.usefixtures("gpu")
def test_a_process_that_runs_gets_the_gpu_and_so_do_its_children(run: Run) -> None:
    script = (
        "import subprocess, sys\n"
        "from samebytes_softdevices._activate import activate_in_process\n"
        "from samebytes_softdevices._devices import plan_for\n"
        "activate_in_process(plan_for(['gpu']))\n"
        "activate_in_process(plan_for(['gpu']))\n"
        f"exec({DEVICES!r})\n"
        "sys.stdout.flush()\n"
        f"subprocess.run([sys.executable, '-c', {DEVICES!r}], check=True)\n"
    )
    done = run(sys.executable, "-c", script)
    assert done.stdout.count("samebytes software GPU") == 2, done.stderr


def test_too_late_is_reported(gpu: Plan, run: Run, tmp_path: Path) -> None:
    mine = gpu.interpose[0]
    other = tmp_path / mine.name
    other.write_bytes(mine.read_bytes())
    script = (
        "import ctypes\n"
        f"ctypes.CDLL({str(other)!r})\n"
        "from samebytes_softdevices._activate import activate_in_process\n"
        "from samebytes_softdevices._devices import plan_for\n"
        "activate_in_process(plan_for(['gpu']))\n"
    )
    done = run(sys.executable, "-c", script)
    assert f"{other} is already loaded" in done.stderr


# Prints the library whose exp() programs get: Intel's libimf has one too, with other roundings.
WHOSE_EXP = """
import ctypes
address = ctypes.cast(ctypes.CDLL(None).exp, ctypes.c_void_p).value
for line in open('/proc/self/maps'):
    first, last = (int(end, 16) for end in line.split()[0].split('-'))
    if first <= address < last:
        print(line.split()[-1])
"""


@pytest.mark.usefixtures("gpu")
def test_mathematics_stay_those_of_libm(run: Run) -> None:
    script = (
        "from samebytes_softdevices._activate import activate_in_process\n"
        "from samebytes_softdevices._devices import plan_for\n"
        "activate_in_process(plan_for(['gpu']))\n"
    )
    in_process = run(sys.executable, "-c", script + WHOSE_EXP)
    as_command = run(*MODULE, "run", "--gpu", "--", sys.executable, "-c", WHOSE_EXP)
    for done in (in_process, as_command):
        assert Path(done.stdout.strip()).name.startswith("libm"), done.stderr
        assert "libimf" not in done.stdout


TEST_FILE = f"""
def test_device(capfd):
    exec({DEVICES!r})
    assert "samebytes software GPU" in capfd.readouterr().out
"""


@pytest.mark.usefixtures("gpu")
def test_pytest_switches_the_gpu_on(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST_FILE)
    done = run(sys.executable, "-m", "pytest", "--softdevices=gpu", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "software devices: gpu (" in done.stdout


def test_pytest_reports_why_a_device_is_missing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST_FILE)
    done = run(sys.executable, "-m", "pytest", "--softdevices=tpu", str(tmp_path))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--softdevices=tpu: unknown software device 'tpu'" in done.stderr


def test_the_plugin_is_light_without_the_option(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_light():\n"
        "    loaded = {m for m in sys.modules if m.startswith('samebytes_softdevices')}\n"
        "    assert loaded == {'samebytes_softdevices', 'samebytes_softdevices._pytest_plugin'}\n"
    )
    done = run(sys.executable, "-m", "pytest", str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert "software devices" not in done.stdout


@pytest.mark.usefixtures("gpu")
def test_the_command_is_installed(run: Run) -> None:
    command = Path(sys.executable).with_name("samebytes-softdevices")
    assert run(str(command), "check").stdout.startswith("ready: gpu (")


@pytest.mark.usefixtures("gpu")
def test_surfaces_need_the_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from samebytes_softdevices._gpu_layer import gpu_live_imports, layer

    layer.cache_clear()
    monkeypatch.setenv("OPENCL_LAYERS", os.devnull)
    with pytest.raises(SoftDeviceError, match="not active in this process"):
        gpu_live_imports()
