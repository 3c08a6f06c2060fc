# SPDX-License-Identifier: Apache-2.0
"""A pristine Debian in a folder, and commands run within it.

From this machine it gets the access to the network, and this checkout.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devtools.system import mirror
from devtools.workspace import ROOT, CommandError, must

CACHE = ROOT / "build" / "fresh"
# Every machine has them: cloning a repository and typing `make` needs them.
_BASE = ("ca-certificates", "git", "make", "python3", "python3-pip")
_SECONDS_KEPT = 7 * 86400
_PATHS = {"root": "/usr/sbin:/usr/bin:/sbin:/bin", "ordinary": "/usr/local/bin:/usr/bin:/bin"}
_HOMES = {"root": "/root", "ordinary": "/home/ordinary"}
_CHECKOUT = "samebytes"
# Nothing else of the host's environment is passed, least of all PIP_*.
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# Settings of where an index is, and none of what is taken from it.
_INDEX_SETTINGS = re.compile(r"^(?:global|install)\.(index-url|proxy|trusted-host)='(.*)'$")

# $1 is the root; the rest is the command. The mounts belong to the namespace and end with it.
_ENTER = """
mount -t proc proc "$1/proc" &&
mount --rbind /sys "$1/sys" &&
mount --rbind /dev "$1/dev" &&
shift && exec "$@"
"""
# The files of a checkout as they are now, without what git ignores.
_COPY = """
git ls-files -z --cached --others --exclude-standard |
    tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory "$1"
"""


def why_no_root() -> str | None:
    """The reason why this machine cannot make a pristine Debian, None if it can."""
    if os.geteuid() != 0:
        return "a pristine Debian needs root (chroot)"
    for program, package in (("debootstrap", "debootstrap"), ("unshare", "util-linux")):
        if not shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
            return f"{program} is missing: apt-get install {package}"
    return None


@dataclass(frozen=True)
class Ended:
    """A command that ended: its status and its output's lines."""

    status: int
    lines: Sequence[str]

    @property
    def last_line(self) -> str:
        """The last line that is not empty."""
        return next((line for line in reversed(self.lines) if line.strip()), "no output")


def shown(command: Sequence[str | Path]) -> Ended:
    """Run a command without input, its output and errors on this terminal as they come."""
    lines = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout
        try:
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                print(f"| {lines[-1]}", flush=True)
        except BaseException:
            process.kill()
            raise
    return Ended(process.returncode, lines)


class Root:
    """An unpacked Debian with this checkout in the home of a user, "root" or "ordinary"."""

    def __init__(self, folder: Path, user: str) -> None:
        """Describe a folder that holds a Debian."""
        self.folder = folder
        self._user = user
        self.home = folder / _HOMES[user].lstrip("/")

    def install(self, packages: Sequence[str]) -> None:
        """Install Debian packages.

        Raises:
            CommandError: apt failed.
        """
        if not packages:
            return
        install = "apt-get install --yes --quiet=2 --no-install-recommends"
        # Lists of an outdated mirror are good enough here, and signed in any case.
        update = "apt-get update --quiet=2 --option Acquire::Check-Valid-Until=false"
        words = f"{update} && {install} {' '.join(packages)}"
        self._must(f"({words}) > /tmp/apt.log 2>&1 || {{ tail -n 20 /tmp/apt.log; false; }}")

    def run(self, command: Sequence[str]) -> Ended:
        """Run a command in the checkout, as the user."""
        script = f'cd ~/{_CHECKOUT} && exec "$@"'
        return self._enter(self._user, ["sh", "-c", script, "sh", *command])

    def put_checkout(self, source: Path = ROOT) -> None:
        """Copy a checkout into the user's home, which is created too."""
        if self._user != "root":
            self._must(f"useradd --create-home {self._user}")
        checkout = self.home / _CHECKOUT
        checkout.mkdir()
        must(["sh", "-c", _COPY, "sh", checkout], cwd=source)
        self._must(f"chown -R {self._user}: {_HOMES[self._user]}/{_CHECKOUT}")

    def _must(self, script: str) -> None:
        ended = self._enter("root", ["sh", "-c", script])
        if ended.status:
            raise CommandError(f"{script.split()[0]} failed in the root: {ended.last_line}")

    def _enter(self, user: str, command: Sequence[str]) -> Ended:
        as_user = [] if user == "root" else [f"--userspec={user}:{user}", "--groups="]
        variables = {"HOME": _HOMES[user], "PATH": _PATHS[user], **surroundings()}
        return shown(
            [
                *("unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child"),
                *("sh", "-c", _ENTER, "sh", str(self.folder)),
                *("chroot", *as_user, str(self.folder)),
                *("env", "-i", *(f"{name}={value}" for name, value in variables.items())),
                *command,
            ]
        )


def surroundings() -> dict[str, str]:
    """The variables with which a fresh machine reaches the network: proxies, and pip's index.

    A machine behind a mirror has its address in a pip.conf. Other settings (caches, wheels on this
    disk) would hide what the trials look for.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PIP_")}
    command = [sys.executable, "-m", "pip", "config", "list"]
    answer = subprocess.run(command, env=kept, capture_output=True, text=True, check=False)
    found = [match for line in answer.stdout.splitlines() if (match := _INDEX_SETTINGS.match(line))]
    return {
        **{k: v for k, v in os.environ.items() if k.lower() in _PROXIES},
        **{f"PIP_{match[1].upper().replace('-', '_')}": match[2] for match in found},
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }


@contextmanager
def unpacked(suite: str, user: str) -> Iterator[Root]:
    """A pristine Debian with this checkout, which is removed afterwards.

    Raises:
        CommandError: it cannot be made.
    """
    archive = _base(suite)
    with tempfile.TemporaryDirectory(prefix=f"{suite}-", dir=CACHE) as name:
        folder = Path(name)
        folder.chmod(0o755)
        must(["tar", "--extract", "--numeric-owner", "--file", archive, "--directory", folder])
        for file in (Path("/etc/resolv.conf"), Path("/etc/hosts"), _CERTIFICATES):
            if file.exists():
                target = folder / file.relative_to("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.unlink(missing_ok=True)
                shutil.copyfile(file, target)
        root = Root(folder, user)
        root.put_checkout()
        yield root


def _base(suite: str) -> Path:
    """The archive of a suite's minimal system, made if there is none of this week."""
    archive = CACHE / f"{suite}.tar"
    if archive.exists() and time.time() - archive.stat().st_mtime < _SECONDS_KEPT:
        return archive
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{suite}-", dir=CACHE) as name:
        folder, new, log = Path(name, "root"), Path(name, "new.tar"), CACHE / f"{suite}.log"
        print(f"debootstrap of {suite}, once a week: its output goes to {log}")
        script = 'exec debootstrap --variant=minbase "$@" > "$0" 2>&1'
        include = f"--include={','.join(_BASE)}"
        if shown(["sh", "-c", script, log, include, suite, folder, mirror()]).status:
            last = log.read_text(errors="replace").strip().splitlines()[-1:]
            raise CommandError(f"debootstrap of {suite} failed: {''.join(last)}")
        for package in (folder / "var/cache/apt/archives").glob("*.deb"):
            package.unlink()
        must(["tar", "--create", "--numeric-owner", "--file", new, "--directory", folder, "."])
        # Renamed when complete, so that no run sees half of it.
        new.rename(archive)
    return archive
