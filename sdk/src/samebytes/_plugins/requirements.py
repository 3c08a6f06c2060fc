# SPDX-License-Identifier: Apache-2.0
"""Requirements of an edge on other plugins: "opencl>=1,<2"."""

from __future__ import annotations

import operator
import re
from functools import cache

__all__ = ["Condition", "parse_requirement", "satisfies"]

Condition = tuple[str, tuple[int, ...]]

_COMPARE = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_REQUIREMENT = re.compile(r"\s*([A-Za-z][\w.-]*)\s*(.*)")
_CONDITION = re.compile(r"\s*(>=|<=|==|>|<)\s*([0-9]+(?:\.[0-9]+)*)\s*")
_RELEASE = re.compile(r"v?(?:[0-9]+!)?([0-9]+(?:\.[0-9]+)*)")


@cache  # plugins repeat few requirements in many edges
def parse_requirement(text: str) -> tuple[str, tuple[Condition, ...]]:
    """ "opencl>=1,<2" as ("opencl", ((">=", (1,)), ("<", (2,)))).

    Raises:
        ValueError: it is not of that form.
    """
    whole = _REQUIREMENT.fullmatch(text)
    parts = whole[2].split(",") if whole and whole[2] else []
    found = [_CONDITION.fullmatch(part) for part in parts]
    if whole is None or None in found:
        raise ValueError(f"{text!r} is not a requirement such as 'opencl>=1,<2'")
    return whole[1], tuple((match[1], _numbers(match[2])) for match in found if match)


@cache
def satisfies(version: str, conditions: tuple[Condition, ...]) -> bool:
    """True if the release part of `version` meets every condition: "1.2rc1" counts as 1.2."""
    release = _RELEASE.match(version)
    have = _numbers(release[1]) if release else ()
    return all(_compare(sign, have, want) for sign, want in conditions)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _compare(sign: str, have: tuple[int, ...], want: tuple[int, ...]) -> bool:
    length = max(len(have), len(want))
    padded = [(*numbers, *[0] * (length - len(numbers))) for numbers in (have, want)]
    return bool(_COMPARE[sign](*padded))
