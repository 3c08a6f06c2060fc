# SPDX-License-Identifier: Apache-2.0
"""The Debian archive that this machine uses."""

import re
import subprocess

from devtools.workspace import CommandError

_DEBIAN_RELEASE = re.compile(r"(bookworm|trixie|forky|sid|stable|oldstable|testing|unstable)$")


class NoMirrorError(CommandError):
    """This machine has no Debian archive among its sources."""


def mirror() -> str:
    """The address from which this machine has its Debian.

    Raises:
        NoMirrorError: it has no Debian archive among its sources, or no apt.
    """
    # Without --no-release-info, apt is silent about sources whose lists were never fetched.
    command = ["apt-get", "--no-release-info", "indextargets"]
    command += ["--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise NoMirrorError("this machine has no apt-get") from None
    for line in answer.stdout.splitlines():
        release, _, address = line.partition(" ")
        if _DEBIAN_RELEASE.match(release) and "://" in address:
            return address
    raise NoMirrorError("apt has no Debian archive among its sources")
