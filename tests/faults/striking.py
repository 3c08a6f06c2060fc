# SPDX-License-Identifier: Apache-2.0
"""Exceptions of a signal handler at random moments of samebytes' code, and where they came.

Real signals, so they come where CPython looks for them. A handler that finds the main thread in
other code waits until it is in samebytes'.
"""

from __future__ import annotations

import random
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from .sites import codes_of_sites

__all__ = ["Striker", "Struck"]

_AGAIN_SECONDS = 2e-4


class Struck(KeyboardInterrupt):
    """What the handler raises."""


class Striker:
    """Raises in the code of samebytes, once for each time that it is armed.

    Attributes:
        armed: it has not raised since.
        struck: it raised in the last block.
        seen: the sites in which a signal came, whether it raised there or not.
        functions: how often it raised, by the innermost function of samebytes.
        sites: the same by the innermost site: see `sites`.
        in_finalizers: how many exceptions Python lost, since they came in one.
    """

    def __init__(self) -> None:
        self.armed = self.struck = False
        self.functions = Counter[str]()
        self.sites = Counter[str]()
        self.seen: set[str] = set()
        self._wanted: str | None = None
        self.in_finalizers = 0
        self._codes = codes_of_sites()
        self._before = signal.signal(signal.SIGALRM, self._strike)
        self._hook, sys.unraisablehook = sys.unraisablehook, self._report

    def end(self) -> None:
        """Let signals and finalizers be handled as before."""
        signal.signal(signal.SIGALRM, self._before)
        sys.unraisablehook = self._hook

    @contextmanager
    def within(self, seconds: float, site: str | None = None) -> Iterator[None]:
        """A block that is struck so many seconds after its begin, unless it is over by then.

        If it is struck, it ends there, and quietly.

        Args:
            seconds: until the first signal.
            site: where to strike; then signals come until one finds it there. None for anywhere.
        """
        self._wanted, self.armed = site, True
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            yield
        except Struck:
            pass
        finally:
            self.struck, self.armed = not self.armed, False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _strike(self, _: int, frame: FrameType | None) -> None:
        innermost = site = None
        while self.armed and frame is not None:
            if frame.f_globals.get("__name__", "").startswith("samebytes"):
                innermost = innermost or frame
                site = site or self._codes.get(frame.f_code)
            frame = frame.f_back
        if site is not None:
            self.seen.add(site)
        if innermost is not None and self._wanted in (None, site):
            self.armed = False
            code = innermost.f_code
            place = Path(code.co_filename).parts[-2:]
            self.functions[f"{'/'.join(place)}:{code.co_qualname}"] += 1
            if site is not None:
                self.sites[site] += 1
            raise Struck
        if self.armed:
            signal.setitimer(
                signal.ITIMER_REAL, random.uniform(_AGAIN_SECONDS / 10, _AGAIN_SECONDS)
            )

    def _report(self, seen: sys.UnraisableHookArgs) -> None:
        if seen.exc_type is Struck:
            self.in_finalizers += 1
        else:
            self._hook(seen)
