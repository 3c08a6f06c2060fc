# SPDX-License-Identifier: Apache-2.0
"""The files that the guest has before it sees the host's."""

from pathlib import Path

from devtools.lab import cpio
from devtools.lab.kernel import Kernel

_INIT = Path(__file__).with_name("init.sh")


def initramfs(kernel: Kernel, busybox: Path) -> bytes:
    """busybox, the modules and init.sh. /dev/console comes with the kernel."""
    return cpio.archive(
        [
            cpio.folder("bin"),
            cpio.program("bin/busybox", busybox.read_bytes()),
            cpio.link("bin/sh", "busybox"),
            cpio.folder("modules"),
            *(cpio.program(f"modules/{m.name}", m.read_bytes()) for m in kernel.modules),
            cpio.program("init", _INIT.read_bytes()),
        ]
    )
