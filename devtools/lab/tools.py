# SPDX-License-Identifier: Apache-2.0
"""The programs of the host that the lab needs."""

import platform
import shutil
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
    """True if an ELF program names an interpreter (PT_INTERP), as those with libraries do."""
    data = program.read_bytes()
    # elf.h: Elf64_Ehdr has e_phoff at 32, e_phentsize at 54, e_phnum at 56; p_type comes first.
    table = int.from_bytes(data[32:40], "little")
    size = int.from_bytes(data[54:56], "little")
    count = int.from_bytes(data[56:58], "little")
    starts = (table + index * size for index in range(count))
    return any(int.from_bytes(data[start : start + 4], "little") == 3 for start in starts)
