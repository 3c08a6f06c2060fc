# SPDX-License-Identifier: Apache-2.0
"""What became of one rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "Outcome"]

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
