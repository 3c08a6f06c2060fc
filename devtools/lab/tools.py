# SPDX-License-Identifier: Apache-2.0
"""The programs of the host that the lab needs."""

import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from devtools.lab.unavailable import LabUnavailableError, MissingToolError

# Debian puts depmod and modprobe where an ordinary user's PATH does not lead.
_ALSO = "/usr/local/sbin:/usr/sbin:/sbin"


@dataclass(frozen=True)
class Tools:
    """The paths of the programs."""

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


def find_program(name: str, *, package: str) -> Path:
    """The path of a program.

    Raises:
        MissingToolError: nowhere; the message names the Debian package that has it.
    """
    found = shutil.which(name) or shutil.which(name, path=_ALSO)
    if not found:
        raise MissingToolError(f"{name} is missing: apt-get install {package}")
    return Path(found)


def needs_libraries(program: Path) -> bool:
    """True if a program is linked to libraries, by ldd, which fails for others."""
    return not subprocess.run(["ldd", program], capture_output=True, check=False).returncode
