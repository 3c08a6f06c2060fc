# SPDX-License-Identifier: Apache-2.0
"""How the child processes tell what they find, as they go: a crash then has a rule to its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..._plugins.failures import described
from ...errors import SamebytesError
from .findings import Outcome

__all__ = ["BrokenRule", "NotChecked", "Report"]


class BrokenRule(Exception):  # noqa: N818 - a finding
    """Raised inside `Report.rule` where the rule is broken; the text says what was seen."""


class NotChecked(Exception):  # noqa: N818 - a finding
    """Raised inside `Report.rule` where this machine cannot show it; the text says why."""


class Report:
    """Answers in lines: {"begin": rule, "subject", "mend", "last"}, then {"outcome", "detail"}.

    Attributes:
        broken: how many rules were.
    """

    def __init__(self, answer: Callable[[object], None]) -> None:
        self._answer = answer
        self._noted: tuple[Outcome, str] = ("passed", "")
        self.broken = 0

    @contextmanager
    def rule(self, rule: str, subject: str, mend: str) -> Iterator[None]:
        """A block that tries a rule; what it raises is the finding, and goes no further."""
        self._begin(rule, subject, mend)
        self._noted = ("passed", "")
        try:
            yield
        except NotChecked as why:
            self._end("not checked", str(why))
        except BrokenRule as what:
            self._end("failed", str(what))
        except SamebytesError as error:
            self._end("failed", str(error))
        except BaseException as error:  # SystemExit too: the plugin's code runs in the block
            self._end("failed", described(error))
        else:
            self._end(*self._noted)

    def note(self, detail: str) -> None:
        """Say what was seen, if the rule passes."""
        self._noted = ("passed", detail)

    def warn(self, detail: str) -> None:
        """Say what is no failure yet."""
        self._noted = ("warned", detail)

    def last(self, rule: str, subject: str, mend: str) -> None:
        """Begin a rule that the end of the process decides: it should end well."""
        self._begin(rule, subject, mend, last=True)

    def facts(self, **facts: object) -> None:
        """Tell the parent what it must not import the plugin to know."""
        self._answer({"facts": facts})

    def _begin(self, rule: str, subject: str, mend: str, *, last: bool = False) -> None:
        self._answer({"begin": rule, "subject": subject, "mend": mend, "last": last})

    def _end(self, outcome: Outcome, detail: str) -> None:
        self.broken += outcome == "failed"
        self._answer({"outcome": outcome, "detail": detail})
