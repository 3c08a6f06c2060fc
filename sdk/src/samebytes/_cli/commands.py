# SPDX-License-Identifier: Apache-2.0
"""The commands of samebytes itself and those of other distributions.

A command is a module with `SUMMARY`, `add_arguments` and `run`: see `CommandModule`. Distributions
name theirs in the entry-point group `samebytes.commands`; such a module is imported only when its
command is called, so a broken one does not affect the others.
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

__all__ = ["GROUP", "Command", "CommandModule", "available"]

GROUP = "samebytes.commands"

# The modules of samebytes' own commands; they too are imported only when they are called.
_OWN = {
    "run": ("run", "run a pipeline that a Python file makes, as a program or as a service"),
    "list": ("listing", "list the plugins, their memory types and the mappings between them"),
    "elements": ("elements", "list the elements of pipelines, or show one with its parameters"),
    "doctor": (
        "doctor",
        "check whether each plugin is installed, importable, and usable on this machine",
    ),
    "route": ("routing", "show the route from one memory type to another, or why there is none"),
    "graph": (
        "graph",
        "draw what can be mapped to what, with the installed plugins: SVG, DOT or text",
    ),
    "bench": (
        "bench",
        "measure what mappings cost on this machine, beside the same by hand and by copying",
    ),
    "new-backend": (
        "new_backend",
        "write the package of a new backend or element: it works, and is there to be changed",
    ),
    "check-plugin": (
        "check_plugin",
        "try the rules for plugins on an installed one, and say what to fix",
    ),
    "completion": (
        "completion",
        "print a script with which your shell completes command lines of samebytes",
    ),
}

# Commands of this project's other distributions, which are shown even if these are not installed.
_ELSEWHERE = {"demo": "decode, infer, draw and encode on one memory"}


class CommandModule(Protocol):
    """The members of the module of a command."""

    SUMMARY: str
    """One line for the help. Those of samebytes' own commands are in this module."""

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Declare the command's arguments."""

    def run(self, options: argparse.Namespace, /) -> int | None:
        """Run the command and return the exit status; None stands for 0."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that can be called.

    Attributes:
        summary: the description that is known without importing it.
        load: returns its module, or raises PluginLoadError or UnknownNameError.
    """

    summary: str
    load: Callable[[], CommandModule]


def available() -> dict[str, Command]:
    """Every command by name, samebytes' own first. No command's module is imported."""
    commands = {
        name: Command(summary, partial(_own, module)) for name, (module, summary) in _OWN.items()
    }
    for entry in entries(GROUP):
        command = Command(f"from {entry.distribution or entry.module}", partial(_import, entry))
        commands.setdefault(entry.name, command)
    for name, summary in _ELSEWHERE.items():
        if name not in commands:
            hint = install_hint(name)
            commands[name] = Command(f"{summary} ({hint})", partial(_absent, name, hint))
    return commands


def _own(module: str) -> CommandModule:
    return cast(CommandModule, importlib.import_module(f".{module}", __package__))


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
