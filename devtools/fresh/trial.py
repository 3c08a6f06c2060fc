# SPDX-License-Identifier: Apache-2.0
"""One set-up on one machine, and what its end means."""

import re
import time
from collections.abc import Sequence

from devtools.environment import DEMO_MEGABYTES, TESTS_MEGABYTES
from devtools.fresh.devices import try_devices
from devtools.fresh.machine import Machine
from devtools.fresh.root import Root, unpacked, why_no_root
from devtools.fresh.terminal import Ended
from devtools.results import Result
from devtools.workspace import CommandError

COMMANDS = {
    "demo": ("make", "demo"),
    "setup": ("python3", "dev.py", "setup"),
    "test": ("make", "test"),
}
DEVICES = "devices"
_AT_MOST = {"demo": DEMO_MEGABYTES, "setup": TESTS_MEGABYTES, "test": TESTS_MEGABYTES}

_SET_UP = re.compile(
    r"set-up took \d+ s, (?P<downloaded>\d+) MB were downloaded"
    r"(?:, (?P<from_disk>\d+) MB taken from folders of this machine)?"
)
_ONE_COMMAND = re.compile(r"(sudo )?apt-get install python3\.\d+-venv")
# make's own lines, and the command that it shows.
_OF_MAKE = re.compile(r"(make(\[\d+\])?: |python3 dev\.py )")


def trials(machine: Machine, names: Sequence[str]) -> list[Result]:
    """Run these set-ups, in turn, on one fresh machine.

    Raises:
        CommandError: the machine cannot be made.
    """
    print(f"======== {machine} ========", flush=True)
    reason = why_no_root()
    if reason:
        raise CommandError(reason)
    with unpacked(machine.suite, machine.user) as root:
        root.install(machine.packages)
        results = [_trial(machine, root, name) for name in names if name != DEVICES]
        if DEVICES in names:
            results += try_devices(root, f"fresh ({machine})")
        return results


def _trial(machine: Machine, place: Root, name: str) -> Result:
    command = COMMANDS[name]
    print(f"$ {' '.join(command)}", flush=True)
    began = time.monotonic()
    ended = place.run(command)
    seconds = time.monotonic() - began
    ok, summary = judged(ended, name, can_make_venv=machine.level != "bare")
    return Result(f"fresh ({machine}) {name}", ok, f"{summary} ({seconds:.0f} s)")


def judged(ended: Ended, name: str, *, can_make_venv: bool) -> tuple[bool, str]:
    """True if a set-up ended as it should, and the line that says how."""
    if not can_make_venv:
        return _says_the_one_command(ended)
    if ended.status:
        return False, f"status {ended.status}: {_cause(ended)}"
    found = [match for line in ended.lines if (match := _SET_UP.search(line))]
    if not found:
        # The machine's set-up before this one had it all.
        return True, ended.last_line
    # A machine without these folders would download that, too.
    megabytes = sum(int(match["downloaded"]) + int(match["from_disk"] or 0) for match in found)
    if megabytes > _AT_MOST[name]:
        return False, f"{megabytes} MB are to download; it announces at most {_AT_MOST[name]}"
    return True, "; ".join(match[0] for match in found)


def _says_the_one_command(ended: Ended) -> tuple[bool, str]:
    """Without python3-venv the first words must be what installs it."""
    lines = [line for line in ended.lines if line.strip() and not _OF_MAKE.match(line)]
    if ended.status == 0:
        return False, "it went on without python3-venv"
    if len(lines) != 2 or not _ONE_COMMAND.fullmatch(lines[1]):
        return False, f"it does not begin with the one command: {lines[:1]}"
    return True, f"it says: {lines[1]}"


def _cause(ended: Ended) -> str:
    """The last line from dev.py itself, as make adds a line of its own after it."""
    said = [line for line in ended.lines if line.startswith("dev.py: ")]
    return said[-1] if said else ended.last_line
