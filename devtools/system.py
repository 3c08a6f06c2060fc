# SPDX-License-Identifier: Apache-2.0
"""What pip cannot bring: headers and libraries of the operating system, here Debian's packages."""

import os
import shutil
import subprocess
from pathlib import Path

from devtools.workspace import run

# A file that shows that it is there, its Debian package, and what needs it.
_WANTED = (
    ("/usr/bin/gcc", "gcc", "software devices"),
    ("/usr/include/CL/cl_layer.h", "opencl-c-headers", "the software GPU"),
    ("/usr/include/level_zero/ze_ddi.h", "libze-dev", "the software NPU"),
    ("/usr/lib/x86_64-linux-gnu/libze_loader.so.1", "libze1", "tests of the Level Zero loader"),
    ("/usr/bin/valgrind", "valgrind", "tests of the software devices' C code"),
)


def prepare_system() -> None:
    """Install what is missing, or say which command would, where that needs another user.

    Without these everything works but the software devices, and the tests on them skip.
    """
    missing = [(package, why) for path, package, why in _WANTED if not Path(path).exists()]
    if not missing:
        return
    packages = [package for package, _ in missing]
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        for package, why in missing:
            print(f"not installed: {package}, for {why}")
        print(f"on Debian: sudo apt-get install {' '.join(packages)}", flush=True)
        return
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    # A new machine's lists of packages may be empty or old; fetching them first costs seconds.
    subprocess.run(["apt-get", "update"], check=False, capture_output=True)
    run(["env", "DEBIAN_FRONTEND=noninteractive", *install])
