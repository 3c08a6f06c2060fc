# SPDX-License-Identifier: Apache-2.0
"""Frame rates as FFmpeg counts them."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["countable", "written_as"]

_FINEST = 100_000
"""The denominator of a rate at most: with it 10,000 frames a second are within FFmpeg's int."""


def written_as(rate: Fraction) -> Fraction:
    """The rate that is meant: 29.97, 23.976 and 59.94 are short for 30000/1001 and so on."""
    whole = -(-rate // 1)
    meant = Fraction(1000 * whole, 1001)
    short = rate != whole and any(round(meant, n) == round(rate, 3) for n in (2, 3))
    return meant if short else rate


def countable(rate: Fraction) -> Fraction:
    """A rate near to it whose two numbers FFmpeg can hold (AVRational has two ints)."""
    return rate.limit_denominator(_FINEST)
