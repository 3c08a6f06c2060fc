# SPDX-License-Identifier: Apache-2.0
"""The axes of the product, and its rows: which cases are run."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass

from .converting import CONVERTS
from .ends import ENDS
from .models import MODELS
from .pairwise import covering
from .sources import SOURCES
from .stages import REGIONS

__all__ = ["ACCESS", "AXES", "WRITERS", "Case", "every_triple", "few"]

ACCESS = {
    "as it comes": "no element asks",
    "r": "an element behind the source reads",
    "rw": "an element behind the source writes",
}
WRITERS = {
    "none": "nobody",
    "reader": "an element reads on the CPU",
    "draw": "`opencv.draw`",
    "branch": "`opencv.draw` in a branch",
    "last branch": "`opencv.draw` in a branch, which is the last item",
}
AXES = {
    "source": tuple(SOURCES),
    "access": tuple(ACCESS),
    "model": tuple(MODELS),
    "regions": tuple(REGIONS),
    "writer": tuple(WRITERS),
    "end": tuple(ENDS),
    "convert": tuple(CONVERTS),
    "threads": ("0", "1", "2"),
}


@dataclass(frozen=True, order=True)
class Case:
    """One pipeline: a value of each axis."""

    source: str
    access: str
    model: str
    regions: str
    writer: str
    end: str
    convert: str
    threads: str

    def __str__(self) -> str:
        return " / ".join(astuple(self))

    @classmethod
    def of(cls, text: str) -> Case:
        """The case that is printed so."""
        return cls(*text.split(" / "))

    @property
    def values(self) -> dict[str, str]:
        """By axis."""
        return asdict(self)


def every_triple() -> list[Case]:
    """Cases with every source, model and writer together, and every other pair of values."""
    return [Case(**row) for row in covering(AXES, ("source", "model", "writer"))]


def few(seed: int = 1) -> list[Case]:
    """Cases with every pair of values.

    Args:
        seed: of the choice among many such lists.
    """
    return [Case(**row) for row in covering(AXES, seed=seed)]
