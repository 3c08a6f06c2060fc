# SPDX-License-Identifier: Apache-2.0
"""The parts of a rule: a function with a number, the sentence that must hold, and the advice."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, ParamSpec

__all__ = ["CHAPTERS", "BrokenRule", "NotChecked", "Rule", "all_rules", "rule"]

P = ParamSpec("P")

CHAPTERS = {
    1: "No byte is copied unless the caller said copy=True, and every copy is counted.",
    2: "map() returns a new object. close() closes it, and says whether what it made is gone.",
    3: "No order of drops crashes or reads freed memory.",
    4: "Nothing leaks, and nothing is held by reference cycles.",
    5: "Bad input gets a clear error at the call that made it.",
    6: "A plugin harms no other, and declaring it imports no framework.",
    7: "Hand-over between queues and APIs is synchronised.",
    8: "Mapping keeps metadata, regions, time and format.",
    9: "Contexts and routes may be used from any thread.",
    10: 'Access "r" gives a read-only result, and read-only memory never becomes writable.',
}
"""The ten rules for backends. Each rule of the book is a part of one of them."""


class BrokenRule(AssertionError):  # noqa: N818 - a finding
    """A rule is broken.

    Attributes:
        seen: what was seen.
        rule: which one it is; None until the rule's own call has ended.
    """

    def __init__(self, seen: str) -> None:
        super().__init__(seen)
        self.seen = seen
        self.rule: Rule[Any] | None = None

    def __str__(self) -> str:
        if self.rule is None:
            return self.seen
        return (
            f"rule {self.rule.number}, {self.rule.sentence}\n  seen: {self.seen}\n"
            f"  which means: {self.rule.meaning}\n  to do: {self.rule.advice}"
        )


class NotChecked(Exception):  # noqa: N818 - a finding
    """A rule cannot be tried on this machine or this object; the message says why."""


class Rule(Generic[P]):
    """One rule. Calling it tries it.

    Attributes:
        number: "2.3" is the third part of the second of the ten rules.
        name: the name of the function.
        sentence: what holds.
        meaning: what it means for users if it does not.
        advice: what an author does about it.
        warns: breaking it is no failure yet.
    """

    __name__: str

    def __init__(
        self,
        number: str,
        sentence: str,
        meaning: str,
        advice: str,
        warns: bool,
        body: Callable[P, str | None],
    ) -> None:
        update_wrapper(self, body)
        self.number = number
        self.name = body.__name__
        self.sentence = sentence
        self.meaning = meaning
        self.advice = advice
        self.warns = warns
        self._body = body

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """Try it.

        Returns:
            What was seen, in a few words; "" if there is nothing to say.

        Raises:
            BrokenRule: it does not hold.
            NotChecked: it cannot be tried here.
        """
        try:
            return self._body(*args, **kwargs) or ""
        except BrokenRule as broken:
            broken.rule = broken.rule or self
            raise

    def __repr__(self) -> str:
        return f"<Rule {self.number} {self.name}>"


def rule(
    number: str, sentence: str, *, means: str, do: str, warns: bool = False
) -> Callable[[Callable[P, str | None]], Rule[P]]:
    """Turn a function that raises BrokenRule or NotChecked, or returns what it saw, into a rule."""

    def decorate(body: Callable[P, str | None]) -> Rule[P]:
        return Rule(number, sentence, means, do, warns, body)

    return decorate


def all_rules() -> list[Rule[Any]]:
    """All rules of the book, ordered by number."""
    package = importlib.import_module(__package__)
    found: dict[str, Rule[Any]] = {}
    for module in pkgutil.iter_modules(package.__path__):
        loaded = importlib.import_module(f"{__package__}.{module.name}")
        for value in vars(loaded).values():
            if isinstance(value, Rule):
                assert found.setdefault(value.number, value) is value, f"{value.number} is twice"
    return sorted(found.values(), key=lambda r: tuple(map(int, r.number.split("."))))
