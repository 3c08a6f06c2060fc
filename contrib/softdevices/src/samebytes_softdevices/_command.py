# SPDX-License-Identifier: Apache-2.0
"""The command samebytes-softdevices."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from samebytes_softdevices._activate import run_command
from samebytes_softdevices._devices import DEVICES, plan_for, plan_of
from samebytes_softdevices._plan import SoftDeviceError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    options = _parser().parse_args(arguments)
    return _check() if options.action == "check" else _run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="samebytes-softdevices",
        description="Software devices under the real libraries, for tests without hardware.",
    )
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("check", help="say which devices can be used here, and what the others lack")
    run = actions.add_parser("run", help="run a command that sees software devices")
    for name in DEVICES:
        run.add_argument(f"--{name}", action="store_true", help=f"with the software {name.upper()}")
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    return parser


def _check() -> int:
    status = 0
    for name in DEVICES:
        try:
            print(f"ready: {plan_of(name).describes}")
        except SoftDeviceError as error:
            status = 1
            print(f"not usable: {name}: {error}")
    return status


def _run(options: argparse.Namespace) -> int:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    names = [name for name in DEVICES if getattr(options, name)]
    if not names or not command:
        missing = "a command" if names else "a device"
        wanted = " ".join(f"[--{name}]" for name in DEVICES)
        print(
            f"{missing} is missing: samebytes-softdevices run {wanted} -- COMMAND", file=sys.stderr
        )
        return 2
    try:
        run_command(plan_for(names), command)
    except SoftDeviceError as error:
        print(f"samebytes-softdevices: {error}", file=sys.stderr)
        # 127 is what shells give when a command cannot be started.
        return 127
    return 0
