# SPDX-License-Identifier: Apache-2.0
"""`samebytes completion`: the script with which a shell completes command lines, made by shtab."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING

from ..errors import MissingDependencyError, PluginLoadError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .commands import Command

__all__ = ["add_arguments", "run"]

_SHELLS = ("bash", "zsh", "tcsh")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=_SHELLS, help="which shell")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab
    except ImportError:
        raise MissingDependencyError(
            "cli", "the package shtab", 'pip install "samebytes[cli]"'
        ) from None
    from .commands import available
    from .program import parser_of  # which imports the commands

    commands = available()
    parser, _ = parser_of(commands, *_loadable(commands))
    for action in _arguments(parser):
        if action.dest == "pipeline":
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab's own attribute
    print(shtab.complete(parser, options.shell))
    return 0


def _loadable(commands: Mapping[str, Command]) -> list[str]:
    found = []
    for name, command in commands.items():
        with suppress(PluginLoadError, UnknownNameError):  # not installed, or broken
            command.load()
            found.append(name)
    return found


def _arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The arguments of the subcommands."""
    return [
        action
        for places in parser._actions
        if isinstance(places, argparse._SubParsersAction)
        for place in places.choices.values()
        for action in place._actions
    ]
