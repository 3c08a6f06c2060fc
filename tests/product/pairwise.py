# SPDX-License-Identifier: Apache-2.0
"""Few rows in which each pair of values of two axes stands, and if wanted each triple of three."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import combinations, product

__all__ = ["covering", "pairs_of"]

Row = dict[str, str]
Pair = tuple[tuple[str, str], tuple[str, str]]


def covering(
    axes: Mapping[str, Sequence[str]], whole: Sequence[str] = (), seed: int = 1
) -> list[Row]:
    """Rows with one value of each axis, among which every pair of values stands together.

    Args:
        axes: the values of each axis.
        whole: axes of which all combinations are to stand, not pairs alone.
        seed: of the choice among equals.
    """
    chance = random.Random(seed)
    missing = {
        pair
        for one, other in combinations(axes, 2)
        for pair in product(((one, value) for value in axes[one]),
                            ((other, value) for value in axes[other]))
    }  # fmt: skip
    rows = [
        _filled(axes, dict(zip(whole, values, strict=True)), missing, chance)
        for values in product(*(axes[name] for name in whole))
    ]
    while missing:
        rows.append(_filled(axes, dict(chance.choice(sorted(missing))), missing, chance))
    return rows


def _filled(
    axes: Mapping[str, Sequence[str]], row: Row, missing: set[Pair], chance: random.Random
) -> Row:
    """The row with a value of each axis, those which cover most of what is missing."""
    names = [name for name in axes if name not in row]
    chance.shuffle(names)
    for name in names:
        values = list(axes[name])
        chance.shuffle(values)
        row[name] = max(
            values, key=lambda value: len(pairs_of(axes, {**row, name: value}) & missing)
        )
    missing -= pairs_of(axes, row)
    return {name: row[name] for name in axes}


def pairs_of(axes: Mapping[str, Sequence[str]], row: Row) -> set[Pair]:
    """The pairs that stand in a row, which need not have a value of each axis yet.

    Args:
        axes: they say the order.
        row: the values.
    """
    return {
        ((one, row[one]), (other, row[other]))
        for one, other in combinations(axes, 2)
        if one in row and other in row
    }
