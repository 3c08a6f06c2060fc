# SPDX-License-Identifier: Apache-2.0
"""A pristine Debian in a folder, and commands run within it."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from devtools.debian import mirror
from devtools.fresh.surroundings import copy_checkout, environment, give_network
from devtools.fresh.terminal import Ended, shown
from devtools.workspace import ROOT, CommandError, must

CACHE = ROOT / "build" / "fresh"
# Every machine has them: whoever clones a repository and types `make` does.
_BASE = ("ca-certificates", "git", "make", "python3", "python3-pip")
_SECONDS_KEPT = 7 * 86400
_PATHS = {"root": "/usr/sbin:/usr/bin:/sbin:/bin", "ordinary": "/usr/local/bin:/usr/bin:/bin"}
_HOMES = {"root": "/root", "ordinary": "/home/ordinary"}
_CHECKOUT = "samebytes"

# $1 is the root; the rest is what runs there. The mounts are the namespace's own and go with it.
_ENTER = """
mount -t proc proc "$1/proc" &&
mount --rbind /sys "$1/sys" &&
mount --rbind /dev "$1/dev" &&
shift && exec "$@"
"""


def why_no_root() -> str | None:
    """The reason why this machine cannot make a pristine Debian, None if it can."""
    if os.geteuid() != 0:
        return "a pristine Debian needs root (chroot)"
    for program, package in (("debootstrap", "debootstrap"), ("unshare", "util-linux")):
        if not shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
            return f"{program} is missing: apt-get install {package}"
    return None


class Root:
    """An unpacked Debian with this checkout in the home of a user."""

    def __init__(self, folder: Path, user: str) -> None:
        """For a folder that holds a Debian."""
        self.folder = folder
        self._user = user

    def install(self, packages: Sequence[str]) -> None:
        """Install Debian packages.

        Raises:
            CommandError: apt failed.
        """
        if not packages:
            return
        install = "apt-get install --yes --quiet=2 --no-install-recommends"
        # Lists of a mirror that stands still are good enough here, and signed in any case.
        update = "apt-get update --quiet=2 --option Acquire::Check-Valid-Until=false"
        words = f"{update} && {install} {' '.join(packages)}"
        script = f"({words}) > /tmp/apt.log 2>&1 || {{ tail -n 20 /tmp/apt.log; false; }}"
        ended = self._enter("root", ["sh", "-c", script])
        if ended.status:
            raise CommandError(f"apt-get failed in the root: {ended.last_line}")

    def run(self, command: Sequence[str]) -> Ended:
        """Run a command in the checkout, as the user."""
        script = f'cd ~/{_CHECKOUT} && exec "$@"'
        return self._enter(self._user, ["sh", "-c", script, "sh", *command])

    def put_checkout(self) -> None:
        """Copy this checkout into the user's home, which is made too."""
        if self._user != "root":
            made = self._enter("root", ["useradd", "--create-home", self._user])
            if made.status:
                raise CommandError(f"useradd failed in the root: {made.last_line}")
        home = self.folder / _HOMES[self._user].lstrip("/")
        copy_checkout(home / _CHECKOUT)
        if self._user != "root":
            owner = home.stat()
            for path in [home / _CHECKOUT, *(home / _CHECKOUT).rglob("*")]:
                os.chown(path, owner.st_uid, owner.st_gid)

    def remove_checkout(self) -> None:
        """Remove the copy of this checkout."""
        shutil.rmtree(self.folder / _HOMES[self._user].lstrip("/") / _CHECKOUT)

    def put(self, file: Path) -> str:
        """Copy a file into the user's home, readable for everyone; its path in there."""
        inside = f"{_HOMES[self._user]}/{file.name}"
        copied = self.folder / inside.lstrip("/")
        shutil.copyfile(file, copied)
        copied.chmod(0o644)
        return inside

    def _enter(self, user: str, command: Sequence[str]) -> Ended:
        variables = environment(_HOMES[user], _PATHS[user])
        as_user = [] if user == "root" else [f"--userspec={user}:{user}", "--groups="]
        folder = str(self.folder)
        return shown(
            [
                *("unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child"),
                *("sh", "-c", _ENTER, "sh", folder),
                *("chroot", *as_user, folder),
                *("env", "-i", *(f"{name}={value}" for name, value in variables.items())),
                *command,
            ]
        )


@contextmanager
def unpacked(suite: str, user: str) -> Iterator[Root]:
    """A pristine Debian with this checkout; it is gone afterwards.

    Raises:
        CommandError: it cannot be made.
    """
    archive = _base(suite)
    with tempfile.TemporaryDirectory(prefix=f"{suite}-", dir=CACHE) as name:
        folder = Path(name)
        folder.chmod(0o755)
        must(["tar", "--extract", "--numeric-owner", "--file", archive, "--directory", folder])
        give_network(folder)
        root = Root(folder, user)
        root.put_checkout()
        yield root


def _base(suite: str) -> Path:
    """The archive of a suite's minimal system, made where there is none of this week."""
    archive = CACHE / f"{suite}.tar"
    if archive.exists() and time.time() - archive.stat().st_mtime < _SECONDS_KEPT:
        return archive
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{suite}-", dir=CACHE) as name:
        folder, new = Path(name, "root"), Path(name, "new.tar")
        include = f"--include={','.join(_BASE)}"
        print(f"debootstrap of {suite}, once a week: its output goes to {CACHE}/{suite}.log")
        script = 'exec debootstrap --variant=minbase "$@" > "$0" 2>&1'
        log = CACHE / f"{suite}.log"
        if shown(["sh", "-c", script, log, include, suite, folder, mirror()]).status:
            last = log.read_text(errors="replace").strip().splitlines()[-1:]
            raise CommandError(f"debootstrap of {suite} failed: {''.join(last)}")
        for package in (folder / "var/cache/apt/archives").glob("*.deb"):
            package.unlink()
        must(["tar", "--create", "--numeric-owner", "--file", new, "--directory", folder, "."])
        # Renamed when complete: no run ever sees half of it.
        new.rename(archive)
    return archive
