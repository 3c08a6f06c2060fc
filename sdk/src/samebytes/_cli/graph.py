# SPDX-License-Identifier: Apache-2.0
"""`samebytes graph`: a picture of the possible mappings. Touches no driver."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .._graph.links import declared_edges, links_of, nodes_of
from .._secrets import without_secrets

__all__ = ["add_arguments", "run"]

_FORMATS = ("svg", "dot", "text")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--format",
        choices=_FORMATS,
        help="the format of the picture; by default that of FILE's suffix (.svg, .dot), else text",
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="where to write it (default: standard output)"
    )


def run(options: argparse.Namespace) -> int:
    """Draw the graph and write it."""
    picture = _picture(options.format or _format_of(options.output))
    if options.output is None:
        sys.stdout.write(picture)
        return 0
    try:
        options.output.write_text(picture, encoding="utf-8")
    except OSError as error:
        print(
            f"samebytes: cannot write {without_secrets(options.output)}: {error.strerror}",
            file=sys.stderr,
        )
        return 1
    return 0


def _format_of(path: Path | None) -> str:
    ending = path.suffix.lstrip(".") if path is not None else ""
    return ending if ending in _FORMATS else "text"


def _picture(format_: str) -> str:
    from .._graph import svg, words

    edges = declared_edges()
    if format_ == "svg":
        return svg.svg(nodes_of(edges), links_of(edges))
    return words.dot(nodes_of(edges), edges) if format_ == "dot" else words.text(edges)
