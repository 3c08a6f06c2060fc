# SPDX-License-Identifier: Apache-2.0
"""The machines on which set-ups are tried."""

from dataclasses import dataclass

from devtools.system import advised_packages

USERS = ("root", "ordinary")

# What each has beside git, make, python3 and pip; the later have what the earlier have.
_ADDED = {
    "bare": (),
    "venv": ("python3-venv",),
    "gcc": ("gcc", "libc6-dev"),
    "advised": (),  # what dev.py names there
}
LEVELS = tuple(_ADDED)


@dataclass(frozen=True)
class Machine:
    """A Debian suite, whose user runs the set-up, and what is installed there."""

    suite: str
    user: str
    level: str

    def __str__(self) -> str:
        return f"{self.suite}, {self.user}, {self.level}"

    @property
    def packages(self) -> list[str]:
        """The Debian packages beside those that every machine has."""
        levels = LEVELS[: LEVELS.index(self.level) + 1]
        added = [package for level in levels for package in _ADDED[level]]
        if self.level == "advised":
            added += advised_packages()
        return added


# The first had root and all that a set-up installs for root; the others show what a user gets.
MACHINES = (
    Machine("bookworm", "root", "venv"),
    *(Machine("trixie", "ordinary", level) for level in LEVELS),
)
# Whose failure is the most informative: the newest Python, no rights, no compiler.
HARDEST = Machine("trixie", "ordinary", "venv")


def chosen(suite: str | None, user: str | None, level: str | None) -> list[Machine]:
    """The machine of these options; without any, all."""
    if suite is user is level is None:
        return list(MACHINES)
    return [Machine(suite or HARDEST.suite, user or HARDEST.user, level or HARDEST.level)]
