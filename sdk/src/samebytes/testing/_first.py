# SPDX-License-Identifier: Apache-2.0
"""A cause that breaks all tests of a suite fails one of them; the others are skipped."""

from __future__ import annotations

import traceback
from typing import ClassVar

import pytest

__all__ = ["REPORTED", "TriedFirst"]

# The causes that a test has failed with, and its name.
REPORTED = pytest.StashKey[dict[str, str]]()
# Of each suite: what its first use raised, as a place and words, or None.
_FIRST = pytest.StashKey[dict[type, str | None]]()


class TriedFirst:
    """The base of suites whose subject is used once, before the first test.

    Class attributes:
        _broken: what is so where that fails.
    """

    _broken: ClassVar[str]

    @pytest.fixture(autouse=True)
    def _first_use(self, request: pytest.FixtureRequest) -> None:
        """Fail the first test if the subject cannot be used at all, and skip the rest."""
        # A suite's own fixtures may be what its subject is made with.
        for name in request.fixturenames:
            if name != "_first_use":
                request.getfixturevalue(name)
        tried = request.session.stash.setdefault(_FIRST, {})
        reported = request.session.stash.setdefault(REPORTED, {})
        if type(self) not in tried:
            error = self._mistake()
            tried[type(self)] = None if error is None else _place_of(error)
            cause = tried[type(self)]
            if error is not None and cause is not None and cause not in reported:
                reported[cause] = request.node.nodeid
                error.add_note(f"The other tests are skipped: {self._broken}.")
                raise error
        cause = tried[type(self)]
        if cause is not None:
            pytest.skip(f"{self._broken}: see {reported[cause]}")

    def _mistake(self) -> Exception | None:
        """The exception with which the first use ends, where it says that nothing works."""
        raise NotImplementedError


def _place_of(error: BaseException) -> str:
    """The line that raised the first of the exceptions which led to this one, and its words."""
    while (cause := error.__cause__) is not None and cause.__traceback__ is not None:
        error = cause  # one that was only made, as by `raise ... from RuntimeError`, has no line
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}: {type(error).__name__}: {error}"
