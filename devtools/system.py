# SPDX-License-Identifier: Apache-2.0
"""What pip cannot bring: headers and libraries of the operating system, here Debian's packages."""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from devtools.workspace import run

_LIBRARIES = "/usr/lib/x86_64-linux-gnu"
_TYPELIBS = f"{_LIBRARIES}/girepository-1.0"
_PLUGINS = f"{_LIBRARIES}/gstreamer-1.0"


@dataclass(frozen=True)
class Wanted:
    """A file that shows that a Debian package is there, and what needs it."""

    path: str
    package: str
    needed_by: str

    @property
    def missing(self) -> bool:
        """Whether it is not there."""
        return not Path(self.path).exists()


# PyGObject and pycairo come as sources: pip builds them.
TO_BUILD_PYGOBJECT = tuple(
    Wanted(path, package, "samebytes-gstreamer, as PyGObject is built when pip installs it")
    for path, package in (
        ("/usr/bin/gcc", "gcc"),
        ("/usr/bin/pkg-config", "pkg-config"),
        (f"{_LIBRARIES}/pkgconfig/gobject-introspection-1.0.pc", "libgirepository1.0-dev"),
        (f"{_LIBRARIES}/pkgconfig/cairo.pc", "libcairo2-dev"),
        # Debian's own Python has it apart; others bring it.
        (f"{sysconfig.get_path('include')}/Python.h", "python3-dev"),
    )
)

_WANTED = (
    Wanted("/usr/bin/gcc", "gcc", "software devices"),
    Wanted("/usr/include/CL/cl_layer.h", "opencl-c-headers", "the software GPU"),
    Wanted("/usr/include/level_zero/ze_ddi.h", "libze-dev", "the software NPU"),
    Wanted(f"{_LIBRARIES}/libze_loader.so.1", "libze1", "tests of the Level Zero loader"),
    Wanted("/usr/bin/valgrind", "valgrind", "tests of the software devices' C code"),
    Wanted("/usr/include/va/va_backend.h", "libva-dev", "the software VA-API driver"),
    Wanted(f"{_LIBRARIES}/libva.so.2", "libva2", "samebytes-vaapi"),
    Wanted(f"{_LIBRARIES}/libva-drm.so.2", "libva-drm2", "samebytes-vaapi"),
    Wanted(f"{_LIBRARIES}/libva-x11.so.2", "libva-x11-2", "tests of VA-API displays on X11"),
    Wanted("/usr/bin/vainfo", "vainfo", "tests of the software VA-API driver"),
    Wanted("/usr/bin/Xvfb", "xvfb", "tests of VA-API displays on X11"),
    Wanted("/usr/include/libdrm/drm_fourcc.h", "libdrm-dev", "tests of structures against headers"),
    Wanted(
        "/usr/include/x86_64-linux-gnu/libavutil/hwcontext_vaapi.h",
        "libavutil-dev",
        "tests of structures against headers",
    ),
    Wanted("/usr/bin/ffmpeg", "ffmpeg", "tests of FFmpeg's hardware frames"),
    *TO_BUILD_PYGOBJECT,
    Wanted(f"{_TYPELIBS}/Gst-1.0.typelib", "gir1.2-gstreamer-1.0", "samebytes-gstreamer"),
    Wanted(
        f"{_TYPELIBS}/GstVideo-1.0.typelib", "gir1.2-gst-plugins-base-1.0", "samebytes-gstreamer"
    ),
    Wanted(f"{_TYPELIBS}/GstVa-1.0.typelib", "gir1.2-gst-plugins-bad-1.0", "samebytes-gstreamer"),
    Wanted(
        f"{_PLUGINS}/libgstvideotestsrc.so",
        "gstreamer1.0-plugins-base",
        "tests of samebytes-gstreamer",
    ),
    Wanted(
        f"{_PLUGINS}/libgstvideo4linux2.so",
        "gstreamer1.0-plugins-good",
        "tests of samebytes-gstreamer",
    ),
    Wanted(f"{_PLUGINS}/libgstva.so", "gstreamer1.0-plugins-bad", "tests of samebytes-gstreamer"),
    Wanted("/usr/bin/qemu-system-x86_64", "qemu-system-x86", "the DMA-BUF lab"),
    Wanted("/usr/share/seabios/bios-256k.bin", "seabios", "the DMA-BUF lab"),
    Wanted("/usr/bin/busybox", "busybox-static", "the DMA-BUF lab"),
    Wanted("/sbin/modprobe", "kmod", "the DMA-BUF lab"),
)


def prepare_system() -> None:
    """Install what is missing, or say which command would, where that needs another user.

    Without these everything works but what the messages name: its tests skip.
    """
    missing = [wanted for wanted in _WANTED if wanted.missing]
    if not missing:
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _install(_packages(missing))
        missing = [wanted for wanted in _WANTED if wanted.missing]
    for package in _packages(missing):
        users = dict.fromkeys(w.needed_by for w in missing if w.package == package)
        print(f"not installed: {package}, for {', '.join(users)}")
    if missing:
        print(apt_command(missing), flush=True)


def apt_command(missing: Iterable[Wanted]) -> str:
    """The command that installs what is missing, in words."""
    return f"on Debian: sudo apt-get install {' '.join(_packages(missing))}"


def _install(packages: list[str]) -> None:
    # A new machine's lists of packages may be empty or old; fetching them first costs seconds.
    subprocess.run(["apt-get", "update"], check=False, capture_output=True)
    install = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes"]
    install.append("--no-install-recommends")
    # One package that the archive lacks makes apt refuse all of them.
    if run([*install, *packages]):
        for package in packages:
            run([*install, package])


def _packages(wanted: Iterable[Wanted]) -> list[str]:
    return list(dict.fromkeys(w.package for w in wanted))
