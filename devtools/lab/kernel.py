# SPDX-License-Identifier: Apache-2.0
"""The guest's kernel: Debian's package, fetched once, unpacked and never installed.

The machine's settings stay: apt keeps its lists in a separate folder. The mirror is the one that
the machine uses.
"""

import hashlib
import lzma
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from devtools.system import mirror
from devtools.workspace import CommandError, capture

SUITE = "bookworm-backports"
# 6.12 has udmabuf and the system heap built in. The -cloud flavour has no drivers for graphics or
# video, hence the strict end of the name.
PACKAGE = re.compile(r"linux-image-6\.12\.(\d+)\+deb12-amd64")
MODULES = ("9pnet_virtio", "9p", "overlay", "vgem", "vivid")

# They decide what a cached folder must hold, and so are part of its name.
_CONTENT = hashlib.sha256(repr(MODULES).encode()).hexdigest()[:8]
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# Debian puts depmod and modprobe into a folder outside an ordinary user's PATH.
_ALSO = "/usr/local/sbin:/usr/sbin:/sbin"


class LabUnavailableError(CommandError):
    """The lab cannot run here; the message says what is missing."""


class MissingToolError(LabUnavailableError):
    """A program is missing, which one command would install."""


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel: its image, and its modules in the order in which they are loaded."""

    release: str
    image: Path
    modules: tuple[Path, ...]


def find_program(name: str, *, package: str) -> Path:
    """The path of a program.

    Raises:
        MissingToolError: it is not found; the message names the Debian package that has it.
    """
    found = shutil.which(name) or shutil.which(name, path=_ALSO)
    if not found:
        raise MissingToolError(f"{name} is missing: apt-get install {package}")
    return Path(found)


def cache_folder() -> Path:
    """The folder in which the lab keeps what it has fetched."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "samebytes" / "lab"


def get_kernel(cache: Path | None = None) -> Kernel:
    """The newest kernel in the cache, or else that of the archive.

    Raises:
        LabUnavailableError: neither has one: the archive is unreachable, or no longer has it.
        MissingToolError: it cannot be unpacked here.
    """
    cache = cache or cache_folder()
    cached = newest(folder.name.removesuffix(f"-{_CONTENT}") for folder in cache.glob("linux-*"))
    if not cached:
        print(f"the lab's kernel is fetched from {SUITE}, once, into {cache}", flush=True)
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as folder:
            work = Path(folder)
            try:
                package = _download(work)
                made = _unpack(package, work)
            except MissingToolError:
                raise
            except CommandError as error:
                raise LabUnavailableError(f"the lab's kernel is Debian's: {error}") from error
            cached = package.name.partition("_")[0]
            # Renamed when complete, so that no run sees half a kernel, and the first of two wins.
            if not (cache / f"{cached}-{_CONTENT}").exists():
                made.rename(cache / f"{cached}-{_CONTENT}")
    folder_ = cache / f"{cached}-{_CONTENT}"
    modules = tuple(sorted((folder_ / "modules").iterdir()))
    return Kernel((folder_ / "release").read_text(), folder_ / "vmlinuz", modules)


def newest(packages: Iterable[str]) -> str | None:
    """The package of the highest version, or None."""
    found = [match for name in packages if (match := PACKAGE.fullmatch(name))]
    return max(found, key=lambda match: int(match[1]))[0] if found else None


def _download(work: Path) -> Path:
    """Fetch the newest kernel's package, whose signature apt checks, and return its path."""
    for part in ("lists", "cache/archives"):
        (work / part / "partial").mkdir(parents=True)
    sources = work / "suite.list"
    signed = f"[signed-by={_KEYRING}] " if _KEYRING.exists() else ""
    sources.write_text(f"deb {signed}{mirror()} {SUITE} main\n")
    options = [
        f"--option=Dir::Etc::SourceList={sources}",
        "--option=Dir::Etc::SourceParts=/dev/null",
        f"--option=Dir::State::Lists={work / 'lists'}",
        f"--option=Dir::Cache={work / 'cache'}",
        # apt's own user may not read the caller's folders.
        "--option=APT::Sandbox::User=root",
        "--option=Acquire::Retries=2",
    ]
    capture(["apt-get", "update", *options, "--error-on=any"])
    package = newest(capture(["apt-cache", "pkgnames", *options]).split())
    if package is None:
        raise LabUnavailableError(f"{SUITE} has no package {PACKAGE.pattern} any more")
    capture(["apt-get", "download", *options, package], cwd=work)
    (path,) = work.glob(f"{package}_*.deb")
    return path


def _unpack(package: Path, work: Path) -> Path:
    """Keep only the parts of a package that a boot needs: 12 MB of 106."""
    whole, kept = work / "whole", work / "kept"
    (kept / "modules").mkdir(parents=True)
    capture([find_program("dpkg-deb", package="dpkg"), "--extract", package, whole])
    (image,) = (whole / "boot").glob("vmlinuz-*")
    release = image.name.removeprefix("vmlinuz-")
    capture([find_program("depmod", package="kmod"), "--basedir", whole, release])
    show: list[str | Path] = [find_program("modprobe", package="kmod"), "--show-depends"]
    show += ["--dirname", whole, "--set-version", release]
    # "insmod PATH", or "builtin NAME"; each once, in the order of loading.
    lines = [line.split() for name in MODULES for line in capture([*show, name]).splitlines()]
    for number, path in enumerate(dict.fromkeys(w[1] for w in lines if w[0] == "insmod")):
        module = Path(path)
        data = module.read_bytes()
        name = module.name.removesuffix(".xz")
        written = lzma.decompress(data) if module.suffix == ".xz" else data
        (kept / "modules" / f"{number:02d}-{name}").write_bytes(written)
    shutil.copy(image, kept / "vmlinuz")
    (kept / "release").write_text(release)
    return kept
