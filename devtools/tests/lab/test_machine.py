# SPDX-License-Identifier: Apache-2.0
"""The guest's command and the life of its QEMU, with a stand-in for QEMU."""

import os
import subprocess
from pathlib import Path

import pytest

from devtools.lab.kernel import Kernel
from devtools.lab.machine import Size, Tools, boot, qemu_command

# It finds the folder of results among its arguments, as the guest does by its tag.
STAND_IN = """#!/bin/sh
for word; do case "$word" in
    local,path=/tmp/*|local,path=$TMP/*) results=${word#local,path=}; results=${results%%,*};;
esac; done
BODY
"""


def is_alive(pid: int) -> bool:
    """True if a process runs, and does not only wait for its parent after its end."""
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text()


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    """A QEMU and a busybox that are scripts; what is packed for a guest is read by none."""
    (tmp_path / "busybox").write_text("#!/bin/sh\ncat > /dev/null\n")
    (tmp_path / "busybox").chmod(0o755)
    return Tools(tmp_path / "qemu", tmp_path / "busybox")


def stand_in(tools: Tools, body: str) -> None:
    text = STAND_IN.replace("$TMP", os.environ.get("TMPDIR", "/tmp"))
    tools.qemu.write_text(text.replace("BODY", body))
    tools.qemu.chmod(0o755)


def test_a_job_and_its_results(tools: Tools, tmp_path: Path) -> None:
    # The job is run on this machine, as the guest runs it in its own.
    stand_in(tools, 'sh "$results/job.sh" >"$results/said"; echo $? >"$results/status"')
    job = ["sh", "-c", 'echo "$GREETING $PWD"; exit 3']
    with boot(
        tools, Kernel("6.12", tools.busybox, ()), job,
        cwd=tmp_path, environment={"GREETING": "it's"}, size=Size(),
    ) as ended:  # fmt: skip
        assert (ended.status, ended.timed_out) == (3, False)
        assert (ended.folder / "said").read_text() == f"it's {tmp_path}\n"
        folder = ended.folder
    assert not folder.exists()


def test_only_what_is_needed_is_passed_on(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMEBYTES_VAAPI_DEVICE", "/dev/null")
    monkeypatch.setenv("A_SECRET", "secret")
    stand_in(tools, "true")
    with boot(
        tools, Kernel("6.12", tools.busybox, ()), ["true"],
        cwd=tmp_path, environment={}, size=Size(),
    ) as ended:  # fmt: skip
        script = (ended.folder / "job.sh").read_text()
        assert ended.status is None
    assert "SAMEBYTES_VAAPI_DEVICE=/dev/null" in script
    assert "A_SECRET" not in script


def test_time_is_limited(tools: Tools, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    stand_in(tools, f"echo $$ >{pid}; exec sleep 600")
    with boot(
        tools, Kernel("6.12", tools.busybox, ()), ["true"],
        cwd=tmp_path, environment={}, size=Size(timeout=3),
    ) as ended:  # fmt: skip
        assert ended.timed_out
    assert not is_alive(int(pid.read_text()))


@pytest.mark.usefixtures("default_signals")
def test_ctrl_c_ends_qemu(tools: Tools, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    # Not before Popen() has returned: until then nobody knows whom to end.
    stand_in(tools, f"trap '' INT; echo $$ >{pid}; sleep 1; kill -INT $PPID; exec sleep 600")
    with (
        pytest.raises(KeyboardInterrupt),
        boot(
            tools, Kernel("6.12", tools.busybox, ()), ["true"],
            cwd=tmp_path, environment={}, size=Size(),
        ),
    ):  # fmt: skip
        pass
    assert not is_alive(int(pid.read_text()))


def test_size(tmp_path: Path) -> None:
    words = list(map(str, qemu_command(tmp_path, Size(memory=512, cpus=3, accelerator="kvm"))))
    for name, value in (("-m", "512"), ("-smp", "3"), ("-accel", "kvm")):
        assert words[words.index(name) + 1] == value


def test_init_is_good_shell() -> None:
    init = Path(__file__).parents[2] / "lab" / "init.sh"
    subprocess.run(["sh", "-n", init], check=True)
