# SPDX-License-Identifier: Apache-2.0
"""`dev.py fresh`: its options, and the machines that they choose."""

import argparse
import time

from devtools.fresh.analytics import SUITE, analytics
from devtools.fresh.image import image
from devtools.fresh.machine import HARDEST, LEVELS, USERS, Machine, chosen
from devtools.fresh.trial import COMMANDS, DEVICES, trials
from devtools.results import Result, table
from devtools.workspace import CommandError

_ANALYTICS = "analytics"
_IMAGE = "image"
_HELP = """\
Tries set-ups on fresh machines: Debian, made with debootstrap in a folder and entered with chroot.
Needs root, debootstrap, and a way to a Debian archive and the package index. The first run on a
suite takes two minutes more; its archive is kept in build/fresh for a week.

  demo, setup, test  what is tried there, in turn: `make demo`, `dev.py setup` (what `make test`
                     installs, without the tests), `make test`; by default demo and setup
  devices            without a compiler, the software devices' wheel shows CPU, GPU and NPU, and
                     the check of their sdist says what is missing; both are built on this machine
  analytics          GStreamer's analytics metadata, between our elements and its own of 1.26, on
                     trixie; with --suite testing, of what Debian's next release has
  image              the image of samples/service, built and run by buildah, on a base made by
                     debootstrap: neither Docker nor a registry is needed
  --suite S          bookworm (Debian 12), trixie (13), or another that debootstrap knows
  --user U           root or ordinary
  --level L          what is installed there beside git, make, python3 and pip, each with what is
                     in the ones before: bare (nothing), venv (python3-venv), gcc, advised (the
                     packages that dev.py names)

With one of the three options, the others are by default trixie, ordinary and venv. Without any,
every machine of this list is tried: bookworm as root; trixie as an ordinary user at all levels.
"""


def add_fresh(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to dev.py's."""
    command = commands.add_parser(
        "fresh",
        help="the set-ups on machines that have nothing yet",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_argument(
        "what", nargs="*", metavar="demo|setup|test|devices|analytics|image", help=argparse.SUPPRESS
    )
    command.add_argument("--suite", help=argparse.SUPPRESS)
    command.add_argument("--user", choices=USERS, help=argparse.SUPPRESS)
    command.add_argument("--level", choices=LEVELS, help=argparse.SUPPRESS)
    command.set_defaults(run=_fresh, takes_more=False)


def hardest() -> list[Result]:
    """The trials that continuous integration runs each time.

    They are the demo on the barest machine that can run it, and GStreamer's analytics metadata.

    Raises:
        CommandError: this machine cannot make it.
    """
    return [*trials(HARDEST, ["demo"]), *analytics()]


def _fresh(options: argparse.Namespace, _: list[str]) -> int:
    began = time.monotonic()
    asked = options.what or ["demo", "setup"]
    known = (*COMMANDS, DEVICES, _ANALYTICS, _IMAGE)
    if unknown := set(asked).difference(known):
        raise CommandError(f"fresh does not know {', '.join(unknown)}; it knows {', '.join(known)}")
    results = analytics(options.suite or SUITE) if _ANALYTICS in asked else []
    if _IMAGE in asked:
        results += image()
    if names := [name for name in asked if name not in (_ANALYTICS, _IMAGE)]:
        machines = chosen(options.suite, options.user, options.level)
        results += [result for machine in machines for result in _results(machine, names)]
    print("\n" + table(results, time.monotonic() - began), flush=True)
    return 0 if all(result.ok for result in results) else 1


def _results(machine: Machine, names: list[str]) -> list[Result]:
    try:
        return trials(machine, names)
    except CommandError as error:
        return [Result(f"fresh ({machine})", False, str(error))]
