# SPDX-License-Identifier: Apache-2.0
"""Exceptions of a signal handler at random moments of samebytes' code, and where they came.

Real signals, so they come where CPython looks for them. A handler that finds the main thread in
other code waits until it is in samebytes'. A signal that a section of deferred() notes counts where
it came, and raises at the end of the section.
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
from typing import Any

from samebytes.plugins import deferred

from .sites import codes_of_sites

__all__ = ["Striker", "Struck"]

_AGAIN_SECONDS = 5e-5  # the shortest sites take less than a microsecond


class Struck(KeyboardInterrupt):
    """The exception that the handler raises."""


class Striker:
    """Raises in the code of samebytes, once for each time that it is armed.

    Attributes:
        armed: it has not raised since.
        struck: it raised in the last block.
        seen: the sites in which a signal came, whether it raised there or not.
        functions: how often it raised, by the innermost function of samebytes.
        sites: the same by the innermost site: see `sites`.
        in_finalizers: how many exceptions Python lost, since they came in one.

    Args:
        rng: of the moments after the first in a block.
    """

    def __init__(self, rng: random.Random) -> None:
        self.armed = self.struck = False
        self.functions = Counter[str]()
        self.sites = Counter[str]()
        self.seen: set[str] = set()
        self._rng = rng
        self._wanted = self._noted = None  # type: str | None
        self.in_finalizers = 0
        self._codes = codes_of_sites()
        self._before = signal.signal(signal.SIGALRM, self._strike)
        self._hook, sys.unraisablehook = sys.unraisablehook, self._report
        self._note = note = deferred._note

        def see(section: deferred, number: int, frame: Any) -> None:
            self._noted = self._places(frame)[1]
            note(section, number, frame)

        deferred._note = see  # type: ignore[method-assign, assignment]

    def end(self) -> None:
        """Let signals and finalizers be handled as before."""
        signal.signal(signal.SIGALRM, self._before)
        sys.unraisablehook = self._hook
        deferred._note = self._note  # type: ignore[method-assign]

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
        innermost, site = self._places(frame)
        noted, self._noted = self._noted, None
        site = noted or site
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
                signal.ITIMER_REAL, self._rng.uniform(_AGAIN_SECONDS / 10, _AGAIN_SECONDS)
            )

    def _places(self, frame: FrameType | None) -> tuple[FrameType | None, str | None]:
        """The innermost frame of samebytes, and the innermost site."""
        innermost = site = None
        while self.armed and frame is not None and site is None:
            if frame.f_globals.get("__name__", "").startswith("samebytes"):
                innermost = innermost or frame
                site = self._codes.get(frame.f_code)
            frame = frame.f_back
        return innermost, site

    def _report(self, seen: sys.UnraisableHookArgs) -> None:
        if seen.exc_type is Struck:
            self.in_finalizers += 1
        else:
            self._hook(seen)
