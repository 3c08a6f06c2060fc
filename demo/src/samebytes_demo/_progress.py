# SPDX-License-Identifier: Apache-2.0
"""Progress: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["progress"]


@contextmanager
def progress(what: str, total: int | None, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of frames that are done.

    It draws on the standard error, so that the report can be redirected.

    Args:
        total: the number of frames in all; None if that is not known.
        quiet: draw nothing.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    columns = (TextColumn("{task.description:>10}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)
