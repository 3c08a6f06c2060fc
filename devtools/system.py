# SPDX-License-Identifier: Apache-2.0
"""Packages that pip cannot install: headers, libraries and programs of the system (Debian)."""

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from devtools.workspace import ROOT, CommandError

LOG = ROOT / "build" / "logs" / "apt.log"

_DEBIAN_RELEASE = re.compile(r"(bookworm|trixie|forky|sid|stable|oldstable|testing|unstable)$")
_MULTIARCH = sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"
_LIBRARIES = f"/usr/lib/{_MULTIARCH}"
_TYPELIBS = f"{_LIBRARIES}/girepository-1.0"
_PLUGINS = f"{_LIBRARIES}/gstreamer-1.0"
_HEADERS = f"/usr/include/{_MULTIARCH}"
_GST = "samebytes-gstreamer and its tests"


@dataclass(frozen=True)
class Wanted:
    """A file that shows that a Debian package is installed, and the uses of the package."""

    path: str
    package: str
    needed_by: str

    @property
    def missing(self) -> bool:
        """True if the file is missing."""
        return not Path(self.path).exists()


# Without one of them, the software devices are installed, but lack the part that needs it.
TO_BUILD_SOFTDEVICES = (
    Wanted("/usr/bin/gcc", "gcc", "software devices"),
    # gcc alone has no headers if recommended packages are not installed.
    Wanted("/usr/include/stdio.h", "libc6-dev", "software devices"),
    Wanted("/usr/include/CL/cl_layer.h", "opencl-c-headers", "the software GPU"),
    Wanted("/usr/include/level_zero/ze_ddi.h", "libze-dev", "the software NPU"),
    Wanted("/usr/include/va/va_backend.h", "libva-dev", "the software VA-API driver"),
)

# PyGObject and pycairo are built from source.
TO_BUILD_PYGOBJECT = tuple(
    Wanted(path, package, "samebytes-gstreamer, as PyGObject is built when pip installs it")
    for path, package in (
        ("/usr/bin/gcc", "gcc"),
        ("/usr/bin/pkg-config", "pkg-config"),
        (f"{_LIBRARIES}/pkgconfig/gobject-introspection-1.0.pc", "libgirepository1.0-dev"),
        (f"{_LIBRARIES}/pkgconfig/cairo.pc", "libcairo2-dev"),
        # Debian's own Python has it in a separate package; others include it.
        (f"{sysconfig.get_path('include')}/Python.h", "python3-dev"),
    )
)

_WANTED = (
    *TO_BUILD_SOFTDEVICES,
    *TO_BUILD_PYGOBJECT,
    *(
        Wanted(path, package, needed_by)
        for path, package, needed_by in (
            ("/usr/bin/ffmpeg", "ffmpeg", "tests of FFmpeg"),
            ("/usr/bin/valgrind", "valgrind", "tests of the software devices' C code"),
            (f"{_LIBRARIES}/libze_loader.so.1", "libze1", "tests of Level Zero"),
            (f"{_LIBRARIES}/libva.so.2", "libva2", "samebytes-vaapi"),
            (f"{_LIBRARIES}/libva-drm.so.2", "libva-drm2", "samebytes-vaapi"),
            (f"{_LIBRARIES}/libva-x11.so.2", "libva-x11-2", "tests of VA-API"),
            ("/usr/bin/vainfo", "vainfo", "tests of VA-API"),
            ("/usr/bin/Xvfb", "xvfb", "tests of VA-API"),
            ("/usr/include/libdrm/drm_fourcc.h", "libdrm-dev", "tests of structures"),
            (f"{_HEADERS}/libavutil/hwcontext_vaapi.h", "libavutil-dev", "tests of structures"),
            (f"{_TYPELIBS}/Gst-1.0.typelib", "gir1.2-gstreamer-1.0", _GST),
            (f"{_TYPELIBS}/GstVideo-1.0.typelib", "gir1.2-gst-plugins-base-1.0", _GST),
            (f"{_TYPELIBS}/GstVa-1.0.typelib", "gir1.2-gst-plugins-bad-1.0", _GST),
            (f"{_TYPELIBS}/GstRtspServer-1.0.typelib", "gir1.2-gst-rtsp-server-1.0", _GST),
            (f"{_PLUGINS}/libgstvideotestsrc.so", "gstreamer1.0-plugins-base", _GST),
            (f"{_PLUGINS}/libgstvideo4linux2.so", "gstreamer1.0-plugins-good", _GST),
            (f"{_PLUGINS}/libgstva.so", "gstreamer1.0-plugins-bad", _GST),
            ("/usr/bin/qemu-system-x86_64", "qemu-system-x86", "the DMA-BUF lab"),
            ("/usr/share/seabios/bios-256k.bin", "seabios", "the DMA-BUF lab"),
            ("/usr/bin/busybox", "busybox-static", "the DMA-BUF lab"),
            ("/sbin/modprobe", "kmod", "the DMA-BUF lab"),
        )
    ),
)


def prepare_system() -> None:
    """Install the packages that are missing, or print the command that would.

    Only root installs. Without these packages, only the uses that the messages name do not work:
    their tests skip.
    """
    missing = _missing()
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"Debian packages for the tests: {_uses(missing)}", flush=True)
        # A new machine's lists of packages may be empty or old; fetching them takes seconds.
        _apt("update")
        # One package that the archive lacks makes apt refuse all of them.
        if not _apt("install", *_packages(missing)):
            print(f"apt-get failed (see {LOG}), so it is run for each package", flush=True)
            for package in _packages(missing):
                _apt("install", package)
        missing = _missing()
    if missing:
        print(f"not installed, so these skip or are left out: {_uses(missing)}")
        print(apt_command(missing), flush=True)


def advised_packages() -> tuple[str, ...]:
    """All Debian packages that a set-up for the tests names."""
    return tuple(_packages(_WANTED))


def apt_command(missing: Iterable[Wanted]) -> str:
    """The command that installs the missing packages, in a sentence."""
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


def _apt(command: str, *packages: str) -> bool:
    """True if apt-get succeeded; its output is appended to LOG."""
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.open("a") as log:
        return not subprocess.run(
            ["apt-get", command, "--yes", "--no-install-recommends", *packages],
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        ).returncode


def _packages(wanted: Iterable[Wanted]) -> list[str]:
    return list(dict.fromkeys(w.package for w in wanted))


def mirror() -> str:
    """The address of this machine's Debian archive.

    Raises:
        CommandError: it has no Debian archive among its sources, or no apt.
    """
    # Without --no-release-info, apt is silent about sources whose lists were never fetched.
    command = ["apt-get", "--no-release-info", "indextargets"]
    command += ["--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CommandError("this machine has no apt-get") from None
    for line in answer.stdout.splitlines():
        release, _, address = line.partition(" ")
        if _DEBIAN_RELEASE.match(release) and "://" in address:
            return address
    raise CommandError("apt has no Debian archive among its sources")
