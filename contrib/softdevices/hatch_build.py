# SPDX-License-Identifier: Apache-2.0
"""Compile the native libraries of the software devices when the distribution is installed.

They are libraries of C that Python loads by path or not at all, so they do not depend on the
version of Python, only on the platform.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FLAGS = (
    "-std=gnu11",
    "-O2",
    "-g",
    "-fPIC",
    "-fvisibility=hidden",
    "-pthread",
    "-Wall",
    "-Wextra",
    "-shared",
    "-Wl,--no-undefined",
)
_REINSTALL = (
    "pip install --force-reinstall --no-deps --no-cache-dir samebytes-softdevices "
    "(or, in a checkout: pip install --force-reinstall --no-deps -e contrib/softdevices)"
)


# Not a dataclass: hatchling runs this file without an entry in sys.modules, which those need.
class Library(NamedTuple):
    """One native library.

    Attributes:
        name: The file that is made.
        folder: Its sources: every .c file of this folder.
        header: A header that shows that what it needs is installed.
        package: The Debian package that has the header.
        link: What the linker gets after the sources.
    """

    name: str
    folder: str
    header: str
    package: str
    link: tuple[str, ...] = ()


LIBRARIES = (
    Library("libsoftgpu.so", "csrc/gpu", "CL/cl_layer.h", "opencl-c-headers", link=("-ldl",)),
    Library(
        "libsoftnpu.so",
        "csrc/npu",
        "level_zero/ze_api.h",
        "libze-dev",
        # It may stand in for the loader, by its name; and its own calls stay within it even where
        # a loader is in the process too.
        link=("-Wl,-soname,libze_loader.so.1", "-Wl,-Bsymbolic", "-ldl"),
    ),
    # libva makes this name of LIBVA_DRIVER_NAME.
    Library("softva_drv_video.so", "csrc/va", "va/va_backend_vpp.h", "libva-dev"),
    Library("libsoftva_drm.so", "csrc/drm", "sys/sysmacros.h", "libc6-dev", link=("-ldl",)),
)


class BuildError(Exception):
    """A library cannot be built; the message says what is missing and what mends it."""


def compiler() -> list[str]:
    """The C compiler, as $CC names it (it may hold flags), or gcc."""
    return shlex.split(os.environ.get("CC", "")) or ["gcc"]


def build_library(library: Library, root: Path, target: Path) -> None:
    """Compile `library` of the source tree `root` into the folder `target`.

    Raises:
        BuildError: the compiler or the header is missing, or the compiler failed.
    """
    sources = sorted(str(path) for path in (root / library.folder).glob("*.c"))
    if not sources:
        raise BuildError(f"{library.name} was not built: {library.folder} holds no C sources")
    command = compiler()
    mend = f"Run `apt install gcc {library.package}`, then {_REINSTALL}."
    if shutil.which(command[0]) is None:
        raise BuildError(
            f"{library.name} was not built: there is no C compiler {command[0]}. {mend}"
        )
    if not _has_header(command, library.header):
        raise BuildError(
            f"{library.name} was not built: the header {library.header} is missing. {mend}"
        )
    # Put in place when whole: a process may be using the one that is there.
    with tempfile.TemporaryDirectory(dir=target) as folder:
        made = Path(folder) / library.name
        done = subprocess.run(
            [*command, *_FLAGS, *sources, "-o", str(made), *library.link],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise BuildError(
                f"{library.name} was not built: {command[0]} failed:\n{done.stderr.strip()}"
            )
        made.replace(target / library.name)


def _has_header(command: list[str], header: str) -> bool:
    done = subprocess.run(
        [*command, "-E", "-x", "c", "-"],
        input=f"#include <{header}>\n",
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0


def build_all(root: Path, target: Path) -> None:
    """Compile what can be compiled; leave a note in place of each library that cannot.

    Raises:
        BuildError: nothing can be compiled.
    """
    target.mkdir(parents=True, exist_ok=True)
    notes = []
    for library in LIBRARIES:
        note = target / f"{library.name}.missing"
        note.unlink(missing_ok=True)
        try:
            build_library(library, root, target)
        except BuildError as error:
            # One of an earlier installation would not be what this one's Python part expects.
            (target / library.name).unlink(missing_ok=True)
            note.write_text(f"{error}\n", encoding="utf-8")
            notes.append(str(error))
    if len(notes) == len(LIBRARIES):
        raise BuildError("\n".join(notes))


class SoftDevicesBuildHook(BuildHookInterface[Any]):
    """What hatchling calls before it makes a wheel, also for an editable installation."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say that the wheel is for this platform."""
        del version
        package = Path("src", "samebytes_softdevices", "_lib")
        build_all(Path(self.root), Path(self.root) / package)
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        # git ignores the folder, and what git ignores is left out unless it is an artifact.
        build_data["artifacts"].append(f"{package.as_posix()}/*")
