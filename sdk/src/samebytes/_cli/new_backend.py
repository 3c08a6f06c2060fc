# SPDX-License-Identifier: Apache-2.0
"""`samebytes new-backend`: a package to start a backend or an element from."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "name",
        metavar="NAME",
        help="the name of its memory type, or plugin, for instance shared_pages",
    )
    parser.add_argument(
        "--element", action="store_true", help="write an element of pipelines instead of a backend"
    )
    parser.add_argument(
        "--into",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="where to write it (default: the current folder)",
    )


def run(options: argparse.Namespace) -> int:
    """Write the package and print the next steps."""
    from .._authors.package import new_package

    folder = new_package(options.name, options.into, element=options.element)
    print(f"{folder} is written. Next:")
    print(f"  cd {folder}")
    print('  pip install --editable ".[test]"')
    print("  pytest")
    print(f"  samebytes check-plugin {options.name}")
    return 0
