# SPDX-License-Identifier: Apache-2.0
"""One suite of Debian's archive, read with apt beside the machine's own settings.

Nothing of the machine changes: apt keeps its lists in a folder of ours. The mirror is the one that
the machine is set up with.
"""

import re
import shutil
import subprocess
from pathlib import Path

from devtools.debian import NoMirrorError, mirror
from devtools.lab.unavailable import NoKernelError

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class Archive:
    """A suite of the Debian mirror that this machine uses."""

    def __init__(self, suite: str, folder: Path) -> None:
        """Fetch the suite's list of packages.

        Raises:
            NoKernelError: there is no apt, no Debian mirror, or no way to it.
        """
        if not shutil.which("apt-get"):
            raise NoKernelError("the lab's kernel comes with apt-get, which this machine lacks")
        self._suite = suite
        (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (folder / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        sources = folder / "suite.list"
        signed = f"[signed-by={_KEYRING}] " if _KEYRING.exists() else ""
        try:
            sources.write_text(f"deb {signed}{mirror()} {suite} main\n")
        except NoMirrorError as error:
            raise NoKernelError(f"the lab's kernel is Debian's; {error}") from None
        self._options = [
            f"--option=Dir::Etc::SourceList={sources}",
            "--option=Dir::Etc::SourceParts=/dev/null",
            f"--option=Dir::State::Lists={folder / 'lists'}",
            f"--option=Dir::Cache={folder / 'cache'}",
            # apt's own user may not read the caller's folders.
            "--option=APT::Sandbox::User=root",
            "--option=Acquire::Retries=2",
        ]
        self._apt("apt-get", "update", "--error-on=any")

    def names(self, pattern: re.Pattern[str]) -> list[str]:
        """The packages whose names match."""
        lines = self._apt("apt-cache", "pkgnames").split()
        return sorted(name for name in lines if pattern.fullmatch(name))

    def download(self, package: str, folder: Path) -> Path:
        """Fetch a package, whose signature apt checks; where it lies."""
        self._apt("apt-get", "download", package, cwd=folder)
        (path,) = folder.glob(f"{package}_*.deb")
        return path

    def _apt(self, program: str, *words: str, cwd: Path | None = None) -> str:
        # The first word is the command, after which apt-get takes options.
        command = [program, words[0], *self._options, *words[1:]]
        answer = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        if answer.returncode:
            lines = answer.stderr.strip().splitlines()
            reason = lines[-1] if lines else f"status {answer.returncode}"
            raise NoKernelError(f"{program} {words[0]} for {self._suite}: {reason}")
        return answer.stdout
