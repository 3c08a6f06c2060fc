# SPDX-License-Identifier: Apache-2.0
"""The QEMU guest: one boot, one job."""

import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devtools.lab.kernel import Kernel, LabUnavailableError, MissingToolError, find_program

_INIT = Path(__file__).with_name("init.sh")
# The path at which the guest sees the folder for results.
RESULTS = Path("/run/samebytes-lab")
SCRATCH = Path("/run/tmp")

# On a busy host, an emulated timer may fail the kernel's check of it, which ends in a panic.
_KERNEL_LINE = "console=ttyS0 quiet panic=-1 no_timer_check rdinit=/init"
# The variables by which the host's Python finds its libraries and devices; the job is in a file.
_PASSED_ON = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "XDG_CACHE_HOME", "COLUMNS")
_PASSED_ON_PREFIXES = ("LC_", "PYTHON", "SAMEBYTES_", "OCL_", "LIBVA_", "HYPOTHESIS_")


@dataclass(frozen=True)
class Tools:
    """The paths of the programs that the lab uses."""

    qemu: Path
    busybox: Path


def find_tools() -> Tools:
    """Find QEMU and a busybox that needs no libraries.

    Raises:
        LabUnavailableError: they are missing, or this is not an x86-64 machine.
    """
    if platform.machine() != "x86_64":
        raise LabUnavailableError(
            f"the lab's guest runs this machine's own Python, and is for x86-64, "
            f"not {platform.machine()}"
        )
    tools = Tools(
        qemu=find_program("qemu-system-x86_64", package="qemu-system-x86"),
        busybox=find_program("busybox", package="busybox-static"),
    )
    if needs_libraries(tools.busybox):
        raise MissingToolError(
            f"{tools.busybox} needs libraries, which the guest has not when it starts: "
            "apt-get install busybox-static"
        )
    return tools


def needs_libraries(program: Path) -> bool:
    """True if a program is linked to libraries: ldd fails for others."""
    return not subprocess.run(["ldd", program], capture_output=True, check=False).returncode


@dataclass(frozen=True)
class Size:
    """The limits of the guest: memory in MiB, CPUs, and seconds; and QEMU's -accel."""

    memory: int = 2048
    cpus: int = 1
    timeout: float = 900
    accelerator: str = "tcg"


@dataclass(frozen=True)
class Ended:
    """The end of a guest: the job's status, or None if it gave none.

    `folder` holds the files that the job wrote to RESULTS; `console` is the kernel's output.
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
) -> Iterator[Ended]:
    """Run a command in a guest that sees the host's files; its output comes to this terminal.

    The guest has ended when the body starts; the folder of results is removed after it.
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
            *qemu_command(tools.qemu, size),
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


def initramfs(kernel: Kernel, busybox: Path, folder: Path) -> bytes:
    """Pack busybox, the modules and init.sh, after copying them into an empty folder.

    The kernel makes /dev/console.
    """
    (folder / "bin").mkdir()
    (folder / "modules").mkdir()
    (folder / "bin" / "sh").symlink_to("busybox")
    files = {"bin/busybox": busybox, "init": _INIT}
    files |= {f"modules/{module.name}": module for module in kernel.modules}
    for name, file in files.items():
        shutil.copyfile(file, folder / name)
        (folder / name).chmod(0o755)
    # A folder comes before its contents.
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    return subprocess.run(
        [busybox, "cpio", "--create", "--format", "newc"],
        cwd=folder,
        input="".join(f"{name}\n" for name in names).encode(),
        capture_output=True,
        check=True,
    ).stdout


def qemu_command(qemu: Path, size: Size) -> list[str | Path]:
    """A machine without disk, network and display; its console is this terminal's output."""
    return [
        qemu,
        *("-machine", "q35", "-accel", size.accelerator, "-cpu", "max"),
        *("-m", str(size.memory), "-smp", str(size.cpus)),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
        *("-device", "virtio-serial-pci"),
        *("-chardev", "stdio,id=terminal,signal=off", "-device", "virtconsole,chardev=terminal"),
    ]


def _shared(tag: str, folder: Path, options: str) -> tuple[str, str]:
    # "none" is the model for a QEMU that is not root: the owner of new files does not matter here.
    return (
        "-virtfs",
        f"local,path={folder},mount_tag={tag},security_model=none,{options}",
    )


def _run(command: Sequence[str | Path], timeout: float) -> bool:
    """Run QEMU; True if the time was up. It is killed then, and at any exception."""
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
