# SPDX-License-Identifier: Apache-2.0
"""The guest's kernel: Debian's package, fetched once, unpacked and never installed."""

import hashlib
import lzma
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from devtools.lab.archive import Archive
from devtools.lab.tools import find_program
from devtools.lab.unavailable import NoKernelError
from devtools.workspace import CommandError, capture

SUITE = "bookworm-backports"
# 6.12 has udmabuf and the system heap built in. The -cloud flavour has no drivers for graphics or
# video, hence the strict end of the name.
PACKAGE = re.compile(r"linux-image-6\.12\.(\d+)\+deb12-amd64")
MODULES = ("9pnet_virtio", "9p", "overlay", "vgem", "vivid")

# Their names change what a cached folder must hold, and so belong to its own name.
_CONTENT = hashlib.sha256(repr(MODULES).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel: its image, and its modules in the order in which they are loaded."""

    release: str
    image: Path
    modules: tuple[Path, ...]


def cache_folder() -> Path:
    """The folder in which the lab keeps what it has fetched."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "samebytes" / "lab"


def get_kernel(cache: Path | None = None) -> Kernel:
    """The newest kernel in the cache, else that of the archive.

    Raises:
        NoKernelError: neither has one.
        MissingToolError: it cannot be unpacked here.
    """
    cache = cache or cache_folder()
    cached = newest(folder.name.removesuffix(f"-{_CONTENT}") for folder in cache.glob("linux-*"))
    if cached:
        return _kernel(cache / f"{cached}-{_CONTENT}")
    print(f"the lab's kernel is fetched from {SUITE}, once, into {cache}", flush=True)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as folder:
        work = Path(folder)
        archive = Archive(SUITE, work)
        package = newest(archive.names(PACKAGE))
        if package is None:
            raise NoKernelError(f"{SUITE} has no package {PACKAGE.pattern} any more")
        made = _unpack(archive.download(package, work), work)
        final = cache / f"{package}-{_CONTENT}"
        # Renamed when complete: no run ever sees half a kernel, and the first of two wins.
        if not final.exists():
            made.rename(final)
    return _kernel(final)


def newest(packages: Iterable[str]) -> str | None:
    """The package of the highest version, None without any."""
    found = [match for name in packages if (match := PACKAGE.fullmatch(name))]
    return max(found, key=lambda match: int(match[1]))[0] if found else None


def _kernel(folder: Path) -> Kernel:
    modules = tuple(sorted((folder / "modules").iterdir()))
    return Kernel((folder / "release").read_text(), folder / "vmlinuz", modules)


def _unpack(package: Path, work: Path) -> Path:
    """Keep of a package what a boot needs: 12 MB of 106."""
    whole, kept = work / "whole", work / "kept"
    (kept / "modules").mkdir(parents=True)
    dpkg = find_program("dpkg-deb", package="dpkg")
    try:
        capture([dpkg, "--extract", package, whole])
        (image,) = (whole / "boot").glob("vmlinuz-*")
        release = image.name.removeprefix("vmlinuz-")
        for number, module in enumerate(_in_order_of_loading(whole, release)):
            data = module.read_bytes()
            if module.suffix == ".xz":
                data = lzma.decompress(data)
            name = module.name.removesuffix(".xz")
            (kept / "modules" / f"{number:02d}-{name}").write_bytes(data)
    except CommandError as error:
        raise NoKernelError(f"{package.name} cannot be unpacked: {error}") from error
    shutil.copy(image, kept / "vmlinuz")
    (kept / "release").write_text(release)
    return kept


def _in_order_of_loading(whole: Path, release: str) -> list[Path]:
    """The wanted modules and all that they depend on, each once."""
    capture([find_program("depmod", package="kmod"), "--basedir", whole, release])
    modprobe = find_program("modprobe", package="kmod")
    paths: dict[Path, None] = {}
    for name in MODULES:
        places: list[str | Path] = ["--dirname", whole, "--set-version", release]
        answer = capture([modprobe, "--show-depends", *places, name])
        # "insmod PATH", or "builtin NAME".
        paths |= {
            Path(words[1]): None
            for line in answer.splitlines()
            if (words := line.split())[0] == "insmod"
        }
    return list(paths)
