# SPDX-License-Identifier: Apache-2.0
"""A fault that breaks all tests of a suite fails one of them; the others are skipped."""

from __future__ import annotations

import traceback
from typing import ClassVar

import pytest

__all__ = ["REPORTED", "TriedFirst"]

# The causes with which a test has failed, and the name of that test.
REPORTED = pytest.StashKey[dict[str, str]]()
# For each suite, the place and message of the exception of its first use, or None.
_FIRST = pytest.StashKey[dict[type, str | None]]()


class TriedFirst:
    """The base of suites whose subject is used once, before the first test.

    Class attributes:
        _broken: the consequence of a failed first use, for the message.
    """

    _broken: ClassVar[str]

    @pytest.fixture(autouse=True)
    def _first_use(self, request: pytest.FixtureRequest) -> None:
        """Fail the first test if the subject cannot be used at all, and skip the rest."""
        # The subject may need the suite's own fixtures.
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
        """The exception of the first use if it means that nothing works, or None."""
        raise NotImplementedError


def _place_of(error: BaseException) -> str:
    """The line and the message of the first exception in the chain that led to this one."""
    while (cause := error.__cause__) is not None and cause.__traceback__ is not None:
        error = cause  # an exception that was never raised, as in `raise ... from E`, has no line
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}: {type(error).__name__}: {error}"
