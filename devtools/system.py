# SPDX-License-Identifier: Apache-2.0
"""Packages that pip cannot bring: headers, libraries and programs of the system (Debian)."""

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from devtools.workspace import ROOT

LOG = ROOT / "build" / "logs" / "apt.log"

_MULTIARCH = sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"
_LIBRARIES = f"/usr/lib/{_MULTIARCH}"
_TYPELIBS = f"{_LIBRARIES}/girepository-1.0"
_PLUGINS = f"{_LIBRARIES}/gstreamer-1.0"
_URI = re.compile(r"^'[^']+' \S+ (?P<size>\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Wanted:
    """A file that shows that a Debian package is there, and what needs it."""

    path: str
    package: str
    needed_by: str

    @property
    def missing(self) -> bool:
        """True if the file is missing."""
        return not Path(self.path).exists()


# Without any of them the software devices are installed, but lack what it is for.
TO_BUILD_SOFTDEVICES = (
    Wanted("/usr/bin/gcc", "gcc", "software devices"),
    # gcc alone brings no headers where recommended packages are not installed.
    Wanted("/usr/include/stdio.h", "libc6-dev", "software devices"),
    Wanted("/usr/include/CL/cl_layer.h", "opencl-c-headers", "the software GPU"),
    Wanted("/usr/include/level_zero/ze_ddi.h", "libze-dev", "the software NPU"),
    Wanted("/usr/include/va/va_backend.h", "libva-dev", "the software VA-API driver"),
)

# PyGObject and pycairo come as sources.
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
    *TO_BUILD_SOFTDEVICES,
    Wanted(f"{_LIBRARIES}/libze_loader.so.1", "libze1", "tests of the Level Zero loader"),
    Wanted("/usr/bin/valgrind", "valgrind", "tests of the software devices' C code"),
    Wanted(f"{_LIBRARIES}/libva.so.2", "libva2", "samebytes-vaapi"),
    Wanted(f"{_LIBRARIES}/libva-drm.so.2", "libva-drm2", "samebytes-vaapi"),
    Wanted(f"{_LIBRARIES}/libva-x11.so.2", "libva-x11-2", "tests of VA-API displays on X11"),
    Wanted("/usr/bin/vainfo", "vainfo", "tests of the software VA-API driver"),
    Wanted("/usr/bin/Xvfb", "xvfb", "tests of VA-API displays on X11"),
    Wanted("/usr/include/libdrm/drm_fourcc.h", "libdrm-dev", "tests of structures against headers"),
    Wanted(
        f"/usr/include/{_MULTIARCH}/libavutil/hwcontext_vaapi.h",
        "libavutil-dev",
        "tests of structures against headers",
    ),
    Wanted("/usr/bin/ffmpeg", "ffmpeg", "tests of FFmpeg's hardware frames"),
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
    Wanted(
        f"{_TYPELIBS}/GstRtspServer-1.0.typelib",
        "gir1.2-gst-rtsp-server-1.0",
        "the test of RTSP",
    ),
    Wanted("/usr/bin/qemu-system-x86_64", "qemu-system-x86", "the DMA-BUF lab"),
    Wanted("/usr/share/seabios/bios-256k.bin", "seabios", "the DMA-BUF lab"),
    Wanted("/usr/bin/busybox", "busybox-static", "the DMA-BUF lab"),
    Wanted("/sbin/modprobe", "kmod", "the DMA-BUF lab"),
    *TO_BUILD_PYGOBJECT,
)


def prepare_system(already_missing: Sequence[str] = ()) -> list[str]:
    """Install the packages that are missing, or say which command would.

    Only root installs, and what and how much is said before. Without these packages everything
    works but what the messages name: its tests skip. What was `already_missing` at the last
    set-up is not asked for again.

    Returns: the packages that are still missing.
    """
    missing = _missing()
    if set(_packages(missing)) <= set(already_missing):
        return _packages(missing)
    if os.geteuid() == 0 and shutil.which("apt-get"):
        # A new machine's lists of packages may be empty or old; fetching them costs seconds.
        subprocess.run(["apt-get", "update"], check=False, capture_output=True)
        missing = _missing()
        print(f"Debian packages for the tests{_how_much(_packages(missing))}:", flush=True)
        print(f"  {_uses(missing)}", flush=True)
        _install(_packages(missing))
        missing = _missing()
    if missing:
        print(f"not installed, so these skip or are left out: {_uses(missing)}")
        print(f"{apt_command(missing)}{_how_much(_packages(missing))}", flush=True)
    return _packages(missing)


def advised_packages() -> tuple[str, ...]:
    """All Debian packages that a set-up for the tests names."""
    return tuple(_packages(_WANTED))


def apt_command(missing: Iterable[Wanted]) -> str:
    """The command that installs what is missing, in words."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    return (
        f"on Debian: {sudo}apt-get install --no-install-recommends {' '.join(_packages(missing))}"
    )


def _missing() -> list[Wanted]:
    return [wanted for wanted in _WANTED if wanted.missing]


def _uses(missing: Iterable[Wanted]) -> str:
    """The uses of the missing packages, each with its packages."""
    uses: dict[str, dict[str, None]] = {}
    for wanted in missing:
        uses.setdefault(wanted.needed_by, {})[wanted.package] = None
    return "; ".join(f"{use} ({', '.join(packages)})" for use, packages in uses.items())


def _how_much(packages: Sequence[str]) -> str:
    """The number and size of the packages that apt would install; empty if it cannot say."""
    command = ["apt-get", "--print-uris", "-qq", "--no-install-recommends", "install", *packages]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    sizes = [int(size) for size in _URI.findall(answer.stdout)]
    return f" ({len(sizes)} packages, {sum(sizes) / 1e6:.0f} MB to download)" if sizes else ""


def _install(packages: list[str]) -> None:
    LOG.parent.mkdir(parents=True, exist_ok=True)
    LOG.unlink(missing_ok=True)
    # One package that the archive lacks makes apt refuse all of them.
    if not _apt_install(packages):
        print(f"apt-get failed (see {LOG}), so it is run for each package", flush=True)
        for package in packages:
            if not _apt_install([package]):
                print(f"  apt-get cannot install {package}", flush=True)


def _apt_install(packages: Sequence[str]) -> bool:
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    with LOG.open("a") as log:
        return not subprocess.run(
            command,
            env=environment,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        ).returncode


def _packages(wanted: Iterable[Wanted]) -> list[str]:
    return list(dict.fromkeys(w.package for w in wanted))
