# SPDX-License-Identifier: Apache-2.0
"""The commands: our own, and those of other distributions.

A command is a module with `SUMMARY: str`, `add_arguments(parser)` and `run(options) -> int`.
Distributions name theirs in the entry-point group `samebytes.commands`; such a module is
imported only when its command is asked for, so a broken one harms no other.
"""

from __future__ import annotations

import argparse
import importlib
from types import ModuleType
from typing import Protocol

from .._plugins.distributions import Entry, entries, install_hint
from .._plugins.loading import call
from ..errors import MissingDependencyError, PluginLoadError
from . import doctor, listing, routing

__all__ = ["GROUP", "Command", "available"]

GROUP = "samebytes.commands"

_OWN: dict[str, ModuleType] = {"list": listing, "doctor": doctor, "route": routing}

# Commands of this project that come with other distributions: shown even where they are absent.
_ELSEWHERE = {"demo": "decode, infer, draw and encode on one memory"}


class Command(Protocol):
    """What the program does with a command."""

    summary: str

    def load(self) -> None:
        """Import what it needs. Raises PluginLoadError or MissingDependencyError."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare its arguments."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it; the exit status."""


def available() -> dict[str, Command]:
    """Every command, ours first. Imports no module of another distribution."""
    commands: dict[str, Command] = {name: _Own(module) for name, module in _OWN.items()}
    for entry in entries(GROUP):
        commands.setdefault(entry.name, _Foreign(entry))
    for name, summary in _ELSEWHERE.items():
        commands.setdefault(name, _Absent(name, summary))
    return commands


class _Own:
    """A command of this distribution."""

    def __init__(self, module: ModuleType) -> None:
        self.summary: str = module.SUMMARY
        self._module = module

    def load(self) -> None:
        pass

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        self._module.add_arguments(parser)

    def run(self, options: argparse.Namespace) -> int:
        return int(self._module.run(options))


class _Foreign:
    """A command of another distribution. Nothing of it is known before load()."""

    def __init__(self, entry: Entry) -> None:
        self.summary = f"from {entry.distribution or entry.module}"
        self._entry = entry

    def load(self) -> None:
        entry = self._entry
        if entry.problem is not None:
            raise PluginLoadError(entry.name, entry.problem)
        self._module = call(importlib.import_module, entry.name, entry.module)
        for attribute in ("SUMMARY", "add_arguments", "run"):
            if not hasattr(self._module, attribute):
                raise PluginLoadError(
                    entry.name, f"{entry.module} is no command: it has no {attribute}"
                )
        self.summary = str(self._module.SUMMARY)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        call(self._module.add_arguments, self._entry.name, parser)

    def run(self, options: argparse.Namespace) -> int:
        return int(self._module.run(options) or 0)


class _Absent:
    """A command whose distribution is not installed."""

    def __init__(self, name: str, summary: str) -> None:
        self._name = name
        self._hint = install_hint(name)
        self.summary = f"{summary} ({self._hint})"

    def load(self) -> None:
        raise MissingDependencyError(self._name, f"samebytes-{self._name}", self._hint)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        pass

    def run(self, options: argparse.Namespace) -> int:
        raise NotImplementedError(f"load() raised for {self._name}")
