# SPDX-License-Identifier: Apache-2.0
"""The cases that need a copy, and why; what is refused without one, and what fails today."""

from __future__ import annotations

from dataclasses import dataclass

from .cases import Case
from .sources import SOURCES

__all__ = ["KNOWN", "Known", "copies_needed", "known"]


def copies_needed(case: Case) -> dict[str, str]:
    """The parts that must be allowed to copy, and why: "pipeline", "model", "ring".

    Args:
        case: the case.
    """
    source = SOURCES[case.source]
    needed: dict[str, str] = {}
    replaced = source.readonly and case.access == "rw"
    draws = source.readonly and case.writer == "draw"
    if replaced or (draws and not replaced):
        needed["pipeline"] = "nobody may write into frames that other processes have"
    if case.writer in ("branch", "last branch"):
        needed["pipeline"] = "frames of a branch are shared, and it writes"
    if case.model == "GPU" and source.unaligned and not replaced:
        needed["model"] = "a GPU works in the CPU's memory by 64 bytes, and these planes do not"
    if case.end == "ring" and (not source.sendable or replaced or draws):
        needed["ring"] = "memory of this process alone is copied into the ring"
    return needed


@dataclass(frozen=True)
class Known:
    """Cases that fail today.

    Attributes:
        why: in a line.
        values: of axes; each has one value or several.
        needs: who must be allowed to copy there.
        sometimes: the outcome is a matter of timing, so that they may pass as well.
    """

    why: str
    values: dict[str, tuple[str, ...]]
    needs: str = ""
    sometimes: bool = False

    def has(self, case: Case) -> bool:
        """True if the case is one of them."""
        if self.needs and self.needs not in copies_needed(case):
            return False
        return all(case.values[axis] in values for axis, values in self.values.items())


KNOWN: tuple[Known, ...] = ()


def known(case: Case) -> Known | None:
    """The entry of a case that fails today."""
    return next((one for one in KNOWN if one.has(case)), None)
