# SPDX-License-Identifier: Apache-2.0
"""Progress on a terminal: a bar with frames and the time left, or the current step."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..elements import Running

__all__ = ["shown_progress", "shown_steps"]


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Callable[[Running], None]]:
    """A function that shows the progress of a pipeline on standard error.

    It shows nothing if standard error is not a terminal, or rich is not installed.

    Args:
        quiet: show nothing in any case.
    """
    if quiet or not sys.stderr.isatty():
        yield _nothing
        return
    try:
        from rich import progress
        from rich.console import Console
    except ImportError:
        yield _nothing
        return
    columns = (
        progress.TextColumn("frames"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[rate]}"),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, rate="")

        def show(running: Running) -> None:
            at = running.progress()
            bar.update(task, completed=at.frames_read, total=at.frames_expected)
            if at.frames_read % 10 == 0:  # not each time: the statistics sort all durations
                bar.update(task, rate=f"{running.statistics()[0].fps:.1f}/s")

        yield show


@contextmanager
def shown_steps(doing: str) -> Iterator[Callable[[str], object]]:
    """A function that shows the name of the current step on standard error.

    The line is cleared at the end. If standard error is not a terminal, nothing is shown.

    Args:
        doing: what is being done with each step, such as "probing".
    """
    out = sys.stderr
    if not out.isatty():
        yield lambda name: None
        return
    try:
        # ECMA-48: CR, and EL, which erases the rest of the line.
        yield lambda name: print(f"\r\x1b[K{doing} {name} ...", end="", flush=True, file=out)
    finally:
        print("\r\x1b[K", end="", flush=True, file=out)


def _nothing(running: Running) -> None:
    """Show nothing."""
