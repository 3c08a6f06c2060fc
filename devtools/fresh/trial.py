# SPDX-License-Identifier: Apache-2.0
"""Set-ups on machines that have nothing yet, and judgements of how they ended."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from devtools.environment import DEMO_MEGABYTES, TESTS_MEGABYTES
from devtools.fresh.root import Ended, Root, unpacked, why_no_root
from devtools.results import Result
from devtools.system import advised_packages
from devtools.workspace import CommandError

# The set-ups, and the most megabytes that each may announce.
COMMANDS = {
    "demo": (("make", "demo"), DEMO_MEGABYTES),
    "setup": (("python3", "dev.py", "setup"), TESTS_MEGABYTES),
    "test": (("make", "test"), TESTS_MEGABYTES),
}

_SET_UP = re.compile(r"set-up took \d+ s, (?P<megabytes>\d+) MB were downloaded")
_ONE_COMMAND = re.compile(r"(sudo )?apt-get install python3\.\d+-venv")
# make's own lines, and the command that it shows.
_OF_MAKE = re.compile(r"(make(\[\d+\])?: |python3 dev\.py )")


@dataclass(frozen=True)
class Machine:
    """A Debian suite, the user of the set-up, and its packages beside git, make and python3."""

    suite: str
    user: str
    packages: tuple[str, ...] = ()

    @property
    def makes_venvs(self) -> bool:
        """True if its Python can make a venv."""
        return "python3-venv" in self.packages


# Debian 12 as root, who can install everything; the others show what a user gets.
MACHINES = {
    "bookworm": Machine("bookworm", "root", ("python3-venv",)),
    "bare": Machine("trixie", "ordinary"),
    "venv": Machine("trixie", "ordinary", ("python3-venv",)),
    "gcc": Machine("trixie", "ordinary", ("python3-venv", "gcc", "libc6-dev")),
    "advised": Machine("trixie", "ordinary", ("python3-venv", *advised_packages())),
}
# The most informative failures: the newest Python, no rights, no compiler.
HARDEST = "venv"


def trials(name: str, what: Sequence[str]) -> list[Result]:
    """Run these set-ups, in turn, on one fresh machine.

    Raises:
        CommandError: the machine cannot be made.
    """
    print(f"======== {name} ========", flush=True)
    reason = why_no_root()
    if reason:
        raise CommandError(reason)
    machine = MACHINES[name]
    with unpacked(machine.suite, machine.user) as root:
        root.install(machine.packages)
        return [_trial(name, root, each) for each in what]


def _trial(name: str, place: Root, what: str) -> Result:
    command, at_most = COMMANDS[what]
    print(f"$ {' '.join(command)}", flush=True)
    began = time.monotonic()
    ended = place.run(command)
    seconds = time.monotonic() - began
    judge = judged if MACHINES[name].makes_venvs else says_the_one_command
    ok, summary = judge(ended, at_most)
    return Result(f"fresh ({name}) {what}", ok, f"{summary} ({seconds:.0f} s)")


def judged(ended: Ended, at_most: int) -> tuple[bool, str]:
    """True if a set-up ended as it should, and the line that shows how."""
    if ended.status:
        # make adds a line of its own after the last one of dev.py.
        said = [line for line in ended.lines if line.startswith("dev.py: ")]
        return False, f"status {ended.status}: {said[-1] if said else ended.last_line}"
    found = [match for line in ended.lines if (match := _SET_UP.search(line))]
    megabytes = sum(int(match["megabytes"]) for match in found)
    if megabytes > at_most:
        return False, f"{megabytes} MB were downloaded; it announces at most {at_most}"
    # Without an announcement, the machine's set-up before this one had everything.
    return True, "; ".join(match[0] for match in found) or ended.last_line


def says_the_one_command(ended: Ended, _: int) -> tuple[bool, str]:
    """Without python3-venv, the first words must be the command that installs it."""
    lines = [line for line in ended.lines if line.strip() and not _OF_MAKE.match(line)]
    if ended.status == 0:
        return False, "it went on without python3-venv"
    if len(lines) != 2 or not _ONE_COMMAND.fullmatch(lines[1]):
        return False, f"it does not begin with the one command: {lines[:1]}"
    return True, f"it says: {lines[1]}"
