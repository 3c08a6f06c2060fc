# SPDX-License-Identifier: Apache-2.0
"""`samebytes route`: how memory of one type is mapped to another."""

from __future__ import annotations

import argparse
import json
import sys

from .._core.access import ACCESS_MODES
from .._core.context import Level
from .._routing.route import route
from ..errors import AmbiguousTargetError, CopyRequiredError, NoRouteError, RouteError

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "show the way from one memory type to another, or why there is none"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("source", metavar="SRC", help='a memory type, or "type:device"')
    parser.add_argument("target", metavar="DST", help='a memory type, or "type:device"')
    parser.add_argument("--access", choices=ACCESS_MODES, default="r", help="what for (r)")
    parser.add_argument(
        "--level",
        choices=("tensor", "frame"),
        help="of what; by default what SRC mostly holds, and frames with --format",
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
    except AmbiguousTargetError:
        raise
    except RouteError as error:
        if options.json:
            print(json.dumps({"route": None, "error": _as_dict(error)}, indent=2))
        print(f"samebytes: {error}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps({"route": found.as_dict(), "error": None}, indent=2))
    else:
        print(found.explain())
    return 0


def _as_dict(error: RouteError) -> dict[str, object]:
    reasons = error.reasons if isinstance(error, NoRouteError | CopyRequiredError) else ()
    return {"type": type(error).__name__, "message": str(error), "reasons": list(reasons)}
