# SPDX-License-Identifier: Apache-2.0
"""The QEMU guest: one boot, one job."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devtools.lab.initramfs import initramfs
from devtools.lab.kernel import Kernel
from devtools.lab.tools import Tools

# Where the guest sees the folder for results.
RESULTS = Path("/run/samebytes-lab")
SCRATCH = Path("/run/tmp")

# On a busy host an emulated timer may miss the kernel's check of it, which would end in a panic.
_KERNEL_LINE = "console=ttyS0 quiet panic=-1 no_timer_check rdinit=/init"
# What leads the host's Python to its libraries and devices; no more, as the job lies in a file.
_PASSED_ON = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "XDG_CACHE_HOME", "COLUMNS")
_PASSED_ON_PREFIXES = ("LC_", "PYTHON", "SAMEBYTES_", "OCL_", "LIBVA_", "HYPOTHESIS_")


@dataclass(frozen=True)
class Size:
    """The limits of the guest: memory in MiB, CPUs, and seconds."""

    memory: int = 2048
    cpus: int = 1
    timeout: float = 900


@dataclass(frozen=True)
class Ended:
    """The end of a guest: the job's status, or None when the job gave none.

    `folder` holds what the job wrote to RESULTS; `console` is what the kernel said.
    """

    status: int | None
    timed_out: bool
    folder: Path
    console: str


@contextmanager
def boot(
    tools: Tools,
    kernel: Kernel,
    job: Sequence[str | Path],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    size: Size,
    accelerator: str = "tcg",
) -> Iterator[Ended]:
    """Run a command in a guest that sees the host's files; its output comes to this terminal.

    The guest is gone when the body starts, the folder of results when it ends.
    """
    with tempfile.TemporaryDirectory(prefix="samebytes-lab-") as folder:
        work = Path(folder)
        results = work / "results"
        results.mkdir()
        files = work / "files"
        files.mkdir()
        (results / "job.sh").write_text(_script(job, cwd, environment))
        initrd, console = work / "initrd", work / "console"
        initrd.write_bytes(initramfs(kernel, tools.busybox, files))
        command = [
            *qemu_command(tools.qemu, size, accelerator),
            *("-kernel", kernel.image, "-initrd", initrd, "-append", _KERNEL_LINE),
            *("-serial", f"file:{console}"),
            *_shared("host", Path("/"), "readonly=on,multidevs=remap"),
            *_shared("results", results, "multidevs=remap"),
        ]
        timed_out = _run(command, size.timeout)
        status = results / "status"
        yield Ended(
            int(status.read_text()) if status.exists() else None,
            timed_out,
            results,
            console.read_text(errors="replace") if console.exists() else "",
        )


def qemu_command(qemu: Path, size: Size, accelerator: str) -> list[str | Path]:
    """A machine without disk, network and display; its console is this terminal's output."""
    return [
        qemu,
        *("-machine", "q35", "-accel", accelerator, "-cpu", "max"),
        *("-m", str(size.memory), "-smp", str(size.cpus)),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
        *("-device", "virtio-serial-pci"),
        *("-chardev", "stdio,id=terminal,signal=off", "-device", "virtconsole,chardev=terminal"),
    ]


def _shared(tag: str, folder: Path, options: str) -> tuple[str, str]:
    # "none" is the model for a QEMU that is not root: who owns a new file does not matter here.
    return (
        "-virtfs",
        f"local,path={folder},mount_tag={tag},security_model=none,{options}",
    )


def _run(command: Sequence[str | Path], timeout: float) -> bool:
    """Run QEMU; whether the time was up. It is killed then, and at any exception."""
    qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        qemu.wait(timeout)
    except subprocess.TimeoutExpired:
        return True
    finally:
        qemu.kill()
        qemu.wait()
    return False


def _script(job: Sequence[str | Path], cwd: Path, environment: Mapping[str, str]) -> str:
    passed = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES)
    }
    passed |= {**environment, "TMPDIR": str(SCRATCH)}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in passed.items()]
    lines += [f"cd {shlex.quote(str(cwd))} || exit 125", f"exec {shlex.join(map(str, job))}"]
    return "\n".join(lines) + "\n"
