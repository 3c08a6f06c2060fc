# SPDX-License-Identifier: Apache-2.0
"""How the child processes tell what they find, as they go: a crash then has a rule to its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec

from ..._plugins.failures import described
from ...errors import SamebytesError
from ...testing.rules import BrokenRule, NotChecked, Rule
from .findings import Outcome

__all__ = ["BrokenRule", "NotChecked", "Report"]


P = ParamSpec("P")


class Report:
    """Answers in lines: {"begin": rule's sentence, "number", "subject", "means", "remedy", "last"},
    then {"outcome", "detail"}.

    Attributes:
        broken: how many rules were.
    """

    def __init__(self, answer: Callable[[object], None]) -> None:
        self._answer = answer
        self._noted: tuple[Outcome, str] = ("passed", "")
        self._last: Outcome = "not checked"
        self.broken = 0

    @contextmanager
    def trying(self, rule: Rule[Any], subject: str) -> Iterator[None]:
        """A block that tries a rule; what it raises is the finding, and goes no further."""
        self._begin(rule, subject)
        self._noted = ("passed", "")
        try:
            yield
        except NotChecked as why:
            self._end("not checked", str(why))
        except BrokenRule as broken:
            self._end("warned" if rule.warns else "failed", broken.seen)
        except SamebytesError as error:
            self._end("failed", str(error))
        except BaseException as error:  # SystemExit too: the plugin's code runs in the block
            self._end("failed", described(error))
        else:
            self._end(*self._noted)

    def tries(self, rule: Rule[P], subject: str, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Try a rule of the book, and note what it saw; whether it holds."""
        with self.trying(rule, subject):
            self.note(rule(*args, **kwargs))
        return self._last == "passed"

    def note(self, detail: str) -> None:
        """Say what was seen, if the rule passes."""
        self._noted = ("passed", detail)

    def last(self, rule: Rule[Any], subject: str) -> None:
        """Begin a rule that the end of the process decides: it should end well."""
        self._begin(rule, subject, last=True)

    def facts(self, **facts: object) -> None:
        """Tell the parent what it must not import the plugin to know."""
        self._answer({"facts": facts})

    def _begin(self, rule: Rule[Any], subject: str, *, last: bool = False) -> None:
        self._answer(
            {
                "begin": rule.sentence, "number": rule.number, "subject": subject,
                "means": rule.meaning, "remedy": rule.advice, "last": last,
            }
        )  # fmt: skip

    def _end(self, outcome: Outcome, detail: str) -> None:
        self._last = outcome
        self.broken += outcome == "failed"
        self._answer({"outcome": outcome, "detail": detail})
