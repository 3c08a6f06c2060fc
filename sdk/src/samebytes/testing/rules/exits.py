# SPDX-License-Identifier: Apache-2.0
"""The end of the interpreter, while mappings are alive."""

from __future__ import annotations

from typing import Any

from ..._core.edges.edge import Access
from .book import rule
from .subjects import MappingSubject

__all__ = ["interpreter_ends_well"]

# Objects put here live until the interpreter ends.
_immortal: list[Any] = []


@rule(
    "3.4",
    "the interpreter ends well with living mappings",
    means="programs that worked end with a crash",
    do="memory whose release calls into a driver has Storage(at_exit=True)",
)
def interpreter_ends_well(subject: MappingSubject, access: Access) -> None:
    """Leave a mapping, its source, its native and its views alive in a module that outlives them.

    The caller sees how the process ends.
    """
    item = subject.item()
    mapped = subject.map(item, access)
    _immortal.append((item.native, item, mapped, mapped.native, subject.target.views(mapped)))
