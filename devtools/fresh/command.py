# SPDX-License-Identifier: Apache-2.0
"""`dev.py fresh`: its options, and the machines that they choose."""

import argparse

from devtools.fresh.analytics import SUITE, analytics
from devtools.fresh.trial import COMMANDS, HARDEST, MACHINES, trials
from devtools.results import Result
from devtools.workspace import CommandError

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
    """Add what dev.py's command takes."""
    kinds = [*COMMANDS, "analytics"]
    command.add_argument("what", nargs="*", metavar="|".join(kinds), help=argparse.SUPPRESS)
    command.add_argument("--suite", default=SUITE, help=argparse.SUPPRESS)
    command.add_argument("--machine", choices=MACHINES, help=argparse.SUPPRESS)


def hardest() -> list[Result]:
    """The trials that continuous integration runs each time.

    They are the demo on the barest machine that can run it, and GStreamer's analytics metadata.

    Raises:
        CommandError: this machine cannot make it.
    """
    return [*trials(HARDEST, ["demo"]), *analytics()]


def fresh(options: argparse.Namespace) -> list[Result]:
    """Try what the options say.

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
