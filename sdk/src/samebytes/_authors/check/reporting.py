# SPDX-License-Identifier: Apache-2.0
"""The reports of the child processes on each rule while they run: a crash names its rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec

from ..._plugins.failures import described
from ...errors import SamebytesError
from ...testing.rules import BrokenRule, NotChecked, Rule

__all__ = ["BrokenRule", "Finding", "NotChecked", "Outcome", "Report"]

P = ParamSpec("P")

Outcome = Literal["passed", "warned", "failed", "not checked"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule, tried on one thing.

    Attributes:
        rule: in a few words: the sentence of a rule of the book.
        number: of that rule; "" for what is not in the book.
        subject: what it was tried on: a module, a class, an edge.
        outcome: "warned" is no failure yet; "not checked" is what this machine cannot show.
        detail: what was seen, or why it was not checked.
        remedy: what to do about a failure.
        means: what a failure means for users.
    """

    rule: str
    subject: str
    outcome: Outcome
    detail: str = ""
    remedy: str = ""
    number: str = ""
    means: str = ""


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
