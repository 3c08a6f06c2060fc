# SPDX-License-Identifier: Apache-2.0
"""The files that the guest has before it sees the host's."""

import shutil
import subprocess
from pathlib import Path

from devtools.lab.kernel import Kernel

_INIT = Path(__file__).with_name("init.sh")


def initramfs(kernel: Kernel, busybox: Path, folder: Path) -> bytes:
    """Pack busybox, the modules and init.sh, laid out in a folder that is empty.

    /dev/console comes with the kernel.
    """
    (folder / "bin").mkdir()
    (folder / "modules").mkdir()
    (folder / "bin" / "sh").symlink_to("busybox")
    files = {"bin/busybox": busybox, "init": _INIT}
    files |= {f"modules/{module.name}": module for module in kernel.modules}
    for name, file in files.items():
        shutil.copyfile(file, folder / name)
        (folder / name).chmod(0o755)
    # A folder comes before what lies in it.
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    return subprocess.run(
        [busybox, "cpio", "--create", "--format", "newc"],
        cwd=folder,
        input="".join(f"{name}\n" for name in names).encode(),
        capture_output=True,
        check=True,
    ).stdout
