# SPDX-License-Identifier: Apache-2.0
"""`dev.py fresh`: set-ups on machines of a list, and GStreamer's analytics metadata on one."""

import argparse
import time

from devtools.fresh.root import unpacked, why_no_root
from devtools.fresh.trial import COMMANDS, HARDEST, MACHINES, trials
from devtools.results import Result
from devtools.workspace import CommandError

SUITE = "trixie"
_FOLDER = "contrib/gstreamer/tests"
_CHECKS = [f"{_FOLDER}/analytics_{part}checks.py" for part in ("", "flow_", "mask_", "newer_")]
_PARTS = ("sdk", "mappers", "contrib/gstreamer")
_PACKAGES = (
    *("python3-gi", "python3-numpy", "python3-pluggy", "python3-pytest", "python3-hatchling"),
    *("gir1.2-gstreamer-1.0", "gir1.2-gst-plugins-base-1.0", "gir1.2-gst-plugins-bad-1.0"),
    "gstreamer1.0-plugins-base",
    *("libpangocairo-1.0-0", "fonts-dejavu-core"),
)
# They are only unpacked: their other elements depend on a gigabyte of packages.
_UNPACKED = ("gstreamer1.0-plugins-good", "gstreamer1.0-plugins-bad")
_SECONDS = 300

# From Debian 14 on, importlib-metadata is no longer packaged.
_INSTALL = f"""
set -e
python3 -m pip install --quiet --break-system-packages --root-user-action=ignore importlib-metadata
python3 -m pip install --quiet --break-system-packages --root-user-action=ignore \\
    --no-deps --no-index --no-build-isolation {" ".join(f"./{part}" for part in _PARTS)}
cd /tmp
apt-get download --quiet=2 {" ".join(_UNPACKED)}
for package in *.deb; do dpkg --extract "$package" /; done
"""

HELP = """\
Tries set-ups on fresh machines: Debian, made with debootstrap in a folder and entered with chroot.
Needs root, debootstrap, and a way to a Debian archive and the package index. The first run on a
suite takes two minutes more; its archive is kept in build/fresh for a week.

  demo, setup, test  what is tried there, in turn: `make demo`, `dev.py setup` (what `make test`
                     installs, without the tests), `make test`; by default demo and setup
  analytics          GStreamer's analytics metadata, between our elements and its own of 1.26, on
                     trixie; with --suite testing, of what Debian's next release has
  --machine NAME     bookworm (Debian 12, root), or of Debian 13, where an ordinary user has git,
                     make, python3 and pip: bare (no more), venv (python3-venv), gcc (a compiler
                     besides), advised (what dev.py names besides); by default each of them
"""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of dev.py's command."""
    kinds = [*COMMANDS, "analytics"]
    command.add_argument("what", nargs="*", metavar="|".join(kinds), help=argparse.SUPPRESS)
    command.add_argument("--suite", default=SUITE, help=argparse.SUPPRESS)
    command.add_argument("--machine", choices=MACHINES, help=argparse.SUPPRESS)


def analytics(suite: str = SUITE) -> list[Result]:
    """Run the checks in a root of that suite.

    Args:
        suite: trixie (Debian 13) has GStreamer 1.26; a later one that debootstrap knows, such as
            `testing`, has newer versions.

    Raises:
        CommandError: it cannot be made.
    """
    reason = why_no_root()
    if reason:
        raise CommandError(reason)
    began = time.monotonic()
    with unpacked(suite, "root") as root:
        root.install(_PACKAGES)
        ended = root.run(["sh", "-c", _INSTALL])
        if not ended.status:
            # The checkout's conftest.py and settings are for a machine with all packages.
            options = "-q --noconftest -c /dev/null --rootdir . --import-mode=importlib"
            command = f"timeout {_SECONDS} python3 -m pytest {options} {' '.join(_CHECKS)}"
            # The shell stays: newer versions of timeout run nothing as a namespace's first process.
            ended = root.run(["sh", "-c", f"{command}; exit $?"])
    seconds = time.monotonic() - began
    name = f"fresh ({suite}) analytics"
    return [Result(name, not ended.status, f"{ended.last_line} ({seconds:.0f} s)")]


def hardest() -> list[Result]:
    """The trials that continuous integration runs each time.

    They are the demo on the barest machine that can run it, and GStreamer's analytics metadata.

    Raises:
        CommandError: this machine cannot make it.
    """
    return [*trials(HARDEST, ["demo"]), *analytics()]


def fresh(options: argparse.Namespace) -> list[Result]:
    """Run the trials that the options name.

    Raises:
        CommandError: this machine lacks something for it, or there is no such trial.
    """
    asked = options.what or ["demo", "setup"]
    results = analytics(options.suite) if "analytics" in asked else []
    names = [name for name in asked if name != "analytics"]
    if unknown := set(names).difference(COMMANDS):
        raise CommandError(f"fresh does not know {', '.join(unknown)}")
    for machine in [options.machine] if options.machine else MACHINES if names else ():
        try:
            results += trials(machine, names)
        except CommandError as error:
            results.append(Result(f"fresh ({machine})", False, str(error)))
    return results
