# SPDX-License-Identifier: Apache-2.0
"""`samebytes route`: how memory of one type is mapped to another."""

from __future__ import annotations

import argparse
import json

from .._core.edges.context import Level
from .._core.edges.edge import ACCESS_MODES
from .._routing.route import route
from ..errors import SamebytesError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("source", metavar="SRC", help='a memory type, or "type:device"')
    parser.add_argument("target", metavar="DST", help='a memory type, or "type:device"')
    parser.add_argument(
        "--access",
        choices=ACCESS_MODES,
        default="r",
        help="how the memory will be used (default: r)",
    )
    parser.add_argument(
        "--level",
        choices=("tensor", "frame"),
        help="what is mapped; by default what SRC mostly holds, and frames with --format",
    )
    parser.add_argument("--format", help="an image format, such as NV12")
    parser.add_argument("--copy", action="store_true", help="allow edges that copy")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Find the route and print it."""
    level: Level | None = options.level or ("frame" if options.format else None)
    try:
        found = route(
            options.source,
            options.target,
            access=options.access,
            level=level,
            format=options.format,
            copy=options.copy,
        )
    except Exception as error:
        # The program reports it on stderr and sets the exit status, as for every command.
        if options.json:
            print(json.dumps({"route": None, "error": _as_dict(error)}, indent=2), flush=True)
        raise
    if options.json:
        print(json.dumps({"route": found.as_dict(), "error": None}, indent=2))
    else:
        print(found.explain())
    return 0


# The attributes that are printed of any error; null for one that it lacks.
_CULPRITS = ("kind", "name", "nearest", "choices", "edge", "plugin")


def _as_dict(error: Exception) -> dict[str, object]:
    known = error if isinstance(error, SamebytesError) else None
    return {
        "type": type(error).__name__,
        "message": str(error),
        "reasons": list(getattr(known, "reasons", ())),
        **{culprit: _plain(getattr(known, culprit, None)) for culprit in _CULPRITS},
    }


def _plain(value: object) -> object:
    if isinstance(value, list | tuple):
        return [str(v) for v in value]
    return value if value is None else str(value)
