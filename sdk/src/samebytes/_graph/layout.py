# SPDX-License-Identifier: Apache-2.0
"""The places of the nodes: the one with the most links in the middle, the others around it.

The same graph gives the same places, on every machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from .links import Link

__all__ = ["Place", "places"]

Place = tuple[float, float]


def places(nodes: Sequence[str], links: Sequence[Link]) -> dict[str, Place]:
    """The place of each node: (0, 0) for the hub, and points of the unit circle for the others.

    x grows to the right and y downwards, as in SVG.
    """
    if not nodes:
        return {}
    degree = Counter(node for link in links for node in (link.first, link.second))
    hub = min(nodes, key=lambda node: (-degree[node], node))
    ring = _ring([node for node in nodes if node != hub], links)
    found = {hub: (0.0, 0.0)}
    for index, node in enumerate(ring):
        angle = 2 * math.pi * (index + 0.5) / len(ring) - math.pi / 2
        found[node] = (math.cos(angle), math.sin(angle))
    return found


def _ring(nodes: list[str], links: Sequence[Link]) -> list[str]:
    """The nodes in an order that puts those with a link beside each other.

    Two nodes are swapped, or one is moved, as long as that makes the links shorter.
    """
    chords = [(k.first, k.second) for k in links if k.first in nodes and k.second in nodes]
    ring, length = nodes, _length(nodes, chords)
    while True:
        best, shortest = ring, length
        for other in _neighbours(ring):
            found = _length(other, chords)
            if found < shortest:
                best, shortest = other, found
        if shortest == length:
            return ring
        ring, length = best, shortest


def _neighbours(ring: list[str]) -> list[list[str]]:
    found = []
    for i, j in combinations(range(len(ring)), 2):
        swapped = list(ring)
        swapped[i], swapped[j] = ring[j], ring[i]
        moved = list(ring)
        moved.insert(j, moved.pop(i))
        found += [swapped, moved]
    return found


def _length(ring: Sequence[str], chords: Sequence[tuple[str, str]]) -> int:
    """The sum of the squared distances along the ring: far pairs would cross the middle."""
    at = {node: index for index, node in enumerate(ring)}
    size = len(ring)
    steps = ((at[a] - at[b]) % size for a, b in chords)
    return sum(min(step, size - step) ** 2 for step in steps)
