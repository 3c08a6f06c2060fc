# SPDX-License-Identifier: Apache-2.0
"""The commands: our own, and those of other distributions.

A command is a module with `SUMMARY`, `add_arguments` and `run`: see `CommandModule`. Distributions
name theirs in the entry-point group `samebytes.commands`; such a module is imported only when its
command is asked for, so a broken one harms no other.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, Protocol, cast

from .._plugins.distributions import Entry, entries, install_hint
from .._plugins.loading import call
from ..errors import PluginLoadError, UnknownNameError
from . import (
    bench,
    check_plugin,
    completion,
    doctor,
    elements,
    graph,
    listing,
    new_backend,
    routing,
    run,
)

__all__ = ["GROUP", "Command", "CommandModule", "available"]

GROUP = "samebytes.commands"

# Commands of this project that come with other distributions: shown even where they are absent.
_ELSEWHERE = {"demo": "decode, infer, draw and encode on one memory"}


class CommandModule(Protocol):
    """The members of the module of a command."""

    SUMMARY: str
    """One line for the help."""

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Declare the command's arguments."""

    def run(self, options: argparse.Namespace, /) -> int | None:
        """Do it; the exit status, where None is 0."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that can be asked for.

    Attributes:
        summary: what is known of it without importing it.
        load: gives its module, or raises PluginLoadError or UnknownNameError.
    """

    summary: str
    load: Callable[[], CommandModule]


def available() -> dict[str, Command]:
    """Every command by name, ours first. Imports no module of another distribution."""
    own: dict[str, CommandModule] = {
        "run": run,
        "list": listing,
        "elements": elements,
        "doctor": doctor,
        "route": routing,
        "graph": graph,
        "bench": bench,
        "new-backend": new_backend,
        "check-plugin": check_plugin,
        "completion": completion,
    }
    commands = {
        name: Command(module.SUMMARY, partial(_same, module)) for name, module in own.items()
    }
    for entry in entries(GROUP):
        command = Command(f"from {entry.distribution or entry.module}", partial(_import, entry))
        commands.setdefault(entry.name, command)
    for name, summary in _ELSEWHERE.items():
        hint = install_hint(name)
        commands.setdefault(name, Command(f"{summary} ({hint})", partial(_absent, name, hint)))
    return commands


def _same(module: CommandModule) -> CommandModule:
    return module


def _import(entry: Entry) -> CommandModule:
    if entry.problem is not None:
        raise PluginLoadError(entry.name, entry.problem)
    module = call(importlib.import_module, entry.name, entry.module)
    for attribute in ("SUMMARY", "add_arguments", "run"):
        if not hasattr(module, attribute):
            raise PluginLoadError(
                entry.name, f"{entry.module} is not a command: it has no {attribute}"
            )
    return cast(CommandModule, module)


def _absent(name: str, hint: str) -> NoReturn:
    raise UnknownNameError("command", name, (), f"(to get it: {hint})")
