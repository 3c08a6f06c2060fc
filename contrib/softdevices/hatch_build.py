# SPDX-License-Identifier: Apache-2.0
"""Compile the native libraries of the software devices when a wheel is built.

They are C libraries that Python loads by path or not at all, so they depend on the platform but
not on the version of Python.

A library that cannot be compiled does not fail the installation: a note takes its place, which
`samebytes-softdevices check` shows. The wheel has the plain tag of this platform (`linux_x86_64`),
which package indexes refuse: a wheel for other machines is audited and tagged at its release.
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
    "pip install --force-reinstall --no-deps --no-cache-dir PATH, where PATH is the folder or the "
    "archive that it was installed from (in a checkout: contrib/softdevices)"
)
# The message of gcc and clang about a missing header, in the locale C.
_NOT_FOUND = ("No such file", "file not found")


# Not a dataclass, which needs an entry in sys.modules: hatchling runs this file without one.
class Library(NamedTuple):
    """One native library.

    Attributes:
        name: The name of the compiled file.
        folder: The folder of its sources, all .c files.
        header: A header that is there if its dependencies are installed.
        package: The Debian package that has the header.
        link: The arguments of the linker after the sources.
        can_fail: True if calls of it can fail on request: it includes the sources of csrc/faults.
    """

    name: str
    folder: str
    header: str
    package: str
    link: tuple[str, ...] = ()
    can_fail: bool = False


LIBRARIES = (
    Library(
        "libsoftgpu.so", "csrc/gpu", "CL/cl_layer.h", "opencl-c-headers", ("-ldl",), can_fail=True
    ),
    Library(
        "libsoftnpu.so",
        "csrc/npu",
        "level_zero/ze_api.h",
        "libze-dev",
        # It may stand in for the loader, by its name. Its own calls stay within it even if the
        # process has a loader too.
        link=("-Wl,-soname,libze_loader.so.1", "-Wl,-Bsymbolic", "-ldl"),
        can_fail=True,
    ),
    # libva makes this name from LIBVA_DRIVER_NAME.
    Library(
        "softva_drv_video.so",
        "csrc/va",
        "va/va_backend_vpp.h",
        "libva-dev",
        ("-ldl",),
        can_fail=True,
    ),
    Library(
        "libsoftcuda.so",
        "csrc/cuda",
        # It declares the functions that it implements itself: NVIDIA's header is not free software.
        "sys/mman.h",
        "libc6-dev",
        # It stands in for NVIDIA's driver, by its name. Its own calls stay within it.
        link=("-Wl,-soname,libcuda.so.1", "-Wl,-Bsymbolic", "-ldl"),
    ),
    Library("libsoftva_drm.so", "csrc/drm", "sys/sysmacros.h", "libc6-dev", link=("-ldl",)),
    # The C library's own functions, which fail on request.
    Library("libsoftfaults.so", "csrc/libc", "sys/mman.h", "libc6-dev", ("-ldl",), can_fail=True),
)


class BuildError(Exception):
    """A library cannot be built; the message says why, and what to do."""


def compiler() -> list[str]:
    """The C compiler that $CC names, perhaps with flags, or gcc."""
    return shlex.split(os.environ.get("CC", "")) or ["gcc"]


def build_library(library: Library, root: Path, target: Path) -> None:
    """Compile `library` of the source tree `root` into the folder `target`.

    Raises:
        BuildError: the compiler or the header is missing, or the compiler failed.
    """
    folders = (library.folder, "csrc/faults") if library.can_fail else (library.folder,)
    sources = sorted(str(path) for folder in folders for path in (root / folder).glob("*.c"))
    if not sources:
        raise BuildError(f"{library.name} was not built: {library.folder} holds no C sources")
    command = compiler()
    packages = " ".join(dict.fromkeys(("gcc", "libc6-dev", library.package)))
    remedy = f"Run `apt install {packages}`, then {_REINSTALL}."
    if shutil.which(command[0]) is None:
        raise BuildError(
            f"{library.name} was not built: there is no C compiler {command[0]}. {remedy}"
        )
    # If the compiler cannot read a header of C itself, it cannot show that a package's is missing.
    for header in ("stdio.h", library.header):
        done = _compile(library, [*command, "-E", "-x", "c", "-"], f"#include <{header}>\n")
        if done.returncode == 0:
            continue
        if header == library.header and any(text in done.stderr for text in _NOT_FOUND):
            raise BuildError(
                f"{library.name} was not built: the header {header} is missing. {remedy}"
            )
        raise BuildError(_failure(library, done, f"If libc6-dev is missing: {remedy}"))
    # Moved into place when complete: a process may be using the present one.
    with tempfile.TemporaryDirectory(dir=target) as folder:
        made = Path(folder) / library.name
        # Without the map, the debug information names the builder's folder.
        flags = [*_FLAGS, f"-ffile-prefix-map={root}/="]
        done = _compile(library, [*command, *flags, *sources, "-o", str(made), *library.link])
        if done.returncode != 0:
            raise BuildError(_failure(library, done, f"Then {_REINSTALL}."))
        made.replace(target / library.name)


def _compile(
    library: Library, command: list[str], source: str = ""
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(
            command, input=source, env=environment, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise BuildError(
            f"{library.name} was not built: {command[0]} cannot be run: {error.strerror}. "
            f"Name a C compiler in the variable CC, then {_REINSTALL}."
        ) from error


def _failure(library: Library, done: subprocess.CompletedProcess[str], remedy: str) -> str:
    said = done.stderr.strip() or "(it printed nothing)"
    return (
        f"{library.name} was not built: {done.args[0]} ended with status {done.returncode}:\n"
        f"{said}\n{remedy}"
    )


def build_all(root: Path, target: Path) -> None:
    """Compile the libraries; leave a note in place of each that cannot be compiled."""
    target.mkdir(parents=True, exist_ok=True)
    for library in LIBRARIES:
        note = target / f"{library.name}.missing"
        note.unlink(missing_ok=True)
        try:
            build_library(library, root, target)
        except BuildError as error:
            # The library of an earlier installation may not fit this one's Python part.
            (target / library.name).unlink(missing_ok=True)
            note.write_text(f"{error}\n", encoding="utf-8")


class SoftDevicesBuildHook(BuildHookInterface[Any]):
    """The hook that hatchling calls before it makes a wheel, even for an editable installation."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and mark the wheel as one for this platform, even if it has no library.

        A wheel for any platform would be taken for a complete one.
        """
        del version
        package = Path("src", "samebytes_softdevices", "_lib")
        build_all(Path(self.root), Path(self.root) / package)
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        # git ignores the folder, and files that git ignores are left out unless they are artifacts.
        build_data["artifacts"].append(f"{package.as_posix()}/*")
