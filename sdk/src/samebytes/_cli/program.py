# SPDX-License-Identifier: Apache-2.0
"""Find the command that the user asked for, run it, and report errors."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

from .. import __version__
from .._plugins.loading import call
from .._secrets import without_secrets, without_secrets_in
from ..errors import AmbiguousTargetError, SamebytesError, UnknownNameError
from .commands import Command, CommandModule, available
from .output import Output, checked_output, empty, open_closed_streams

__all__ = ["main", "parser_of"]

_EPILOG = """\
Exit status: 0 all is well, 1 it is not, 2 the command line is wrong, 130 interrupted.
SAMEBYTES_TRACEBACK=1 shows the Python traceback of an error.
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors repeat no password. The commands' parsers are of this class too."""

    def error(self, message: str) -> NoReturn:
        super().error(without_secrets(message))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line, by default the process's own, and return the exit status."""
    open_closed_streams()
    status = _checked_status(list(sys.argv[1:] if argv is None else argv))
    empty(sys.stderr)
    return status


def _checked_status(arguments: list[str]) -> int:
    with checked_output() as output:
        status = _status(arguments, output)
    if output.error is None:
        return status
    if isinstance(output.error, BrokenPipeError):
        # The reader of the output has closed it, as `head` does: this is not an error.
        return 128 + 13  # the status that a shell shows for a process ended by SIGPIPE
    _tell(output.error, f"cannot write the output: {output.error.strerror}")
    return 1


def _status(arguments: list[str], output: Output) -> int:
    try:
        return _run(arguments)
    except SystemExit as end:
        return _status_of(end)
    except KeyboardInterrupt:
        return 130
    except SamebytesError as error:
        if output.error is not None and error.__cause__ is output.error:
            return 1  # an element printed to it; the caller reports the error
        _tell(error, f"{error}{_place_of(error)}")
        return 2 if isinstance(error, UnknownNameError | AmbiguousTargetError) else 1
    except Exception as error:
        if error is output.error:
            return 1  # the caller reports the error
        _tell(
            error,
            f"unexpected {type(error).__name__}: {error} "
            "(SAMEBYTES_TRACEBACK=1 shows where it came from)",
        )
        return 1


def _run(arguments: list[str]) -> int:
    commands = available()
    # Options before the command take no values, so the command is the first other word.
    wanted = next((a for a in arguments if not a.startswith("-")), None)
    if wanted is not None and wanted not in commands:
        # It may be the value of an option that holds a secret: --token.
        said = without_secrets(arguments)[arguments.index(wanted)]
        raise UnknownNameError("command", said, commands, "(see: samebytes --help)")
    parser, chosen = parser_of(commands, wanted)
    options = parser.parse_args(arguments)
    if chosen is None:
        parser.print_help(sys.stderr)
        return 2
    return chosen.run(options) or 0


def parser_of(
    commands: Mapping[str, Command], *loaded: str | None
) -> tuple[argparse.ArgumentParser, CommandModule | None]:
    """The parser of a command line, and the last of the commands that are loaded.

    Args:
        commands: all commands.
        loaded: the commands whose arguments the parser knows; of the others it knows the names.

    Raises:
        PluginLoadError: one of them cannot be loaded.
        UnknownNameError: one of them is not installed.
    """
    parser = _Parser(
        prog="samebytes",
        description="One piece of memory, used through many frameworks without copies.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"samebytes {__version__}")
    places = parser.add_subparsers(metavar="COMMAND")
    chosen: CommandModule | None = None
    for name, command in commands.items():
        place = places.add_parser(
            name, help=command.summary, description=command.summary, allow_abbrev=False
        )
        if name in loaded:
            chosen = command.load()
            place.description = getattr(chosen, "SUMMARY", command.summary)
            call(chosen.add_arguments, name, place)
    return parser, chosen


def _place_of(error: SamebytesError) -> str:
    """The line of an element's code that raised, in parentheses; "" if no other error caused this.

    An error that only repeats the message of such an exception is of no use without the line.
    """
    cause = error.__cause__
    if cause is None or not str(error).endswith(f"{type(cause).__name__}: {cause}"):
        return ""
    from .lines import line_of

    line = line_of(cause)
    return f" ({line})" if line and line not in str(error) else ""


def _status_of(end: SystemExit) -> int:
    """The exit status that the interpreter would use; a message is printed, as it would be."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


def _tell(error: BaseException, message: str) -> None:
    # If standard error takes nothing either, the status alone shows it.
    with suppress(OSError):
        if os.environ.get("SAMEBYTES_TRACEBACK") == "1":
            import traceback  # slow to import

            # The source lines in a traceback may hold secrets that the error does not.
            lines = traceback.format_exception(without_secrets_in(error))
            print(*map(without_secrets, lines), sep="", end="", file=sys.stderr)
        else:
            print(f"samebytes: {without_secrets(message)}", file=sys.stderr)
