# SPDX-License-Identifier: Apache-2.0
"""Read the entry points of installed distributions, without importing them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .installing import extras, working

__all__ = ["Entry", "entries", "install_hint"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry point: a name and the module it stands for.

    Attributes:
        name: the name of the plugin or command.
        module: its module.
        distribution, version: what announces it; "" if its metadata do not say.
        problem: why the entry point cannot be used, or None.
    """

    name: str
    module: str
    distribution: str = ""
    version: str = ""
    problem: str | None = None


def entries(group: str) -> list[Entry]:
    """The entry points of a group, sorted, so that their order does not depend on the disk."""
    return sorted(_scan(group), key=lambda e: (e.name, e.distribution))


def _scan(group: str) -> Iterator[Entry]:
    import importlib_metadata  # slow to import: not before somebody needs plugins

    seen: set[str] = set()
    for dist in importlib_metadata.distributions():
        # Not importlib_metadata.entry_points(): one malformed file of any distribution would
        # end it. Most distributions are done after this look at the text.
        text = _text(dist)
        if f"[{group}]" not in text:
            continue
        name, version = _identity(dist)
        key = re.sub(r"[-_.]+", "-", name).lower() or text
        if key in seen:  # the same one again, further down sys.path
            continue
        seen.add(key)
        try:
            found = list(dist.entry_points.select(group=group))
        except Exception as error:
            problem = f"its entry_points.txt is malformed: {error}"
            yield Entry(name or "?", "", name, version, problem)
            continue
        for point in found:
            yield Entry(point.name, point.value, name, version, _problem(point))


def _text(dist: Any) -> str:
    try:
        return dist.read_text("entry_points.txt") or ""
    except Exception:  # unreadable, or not UTF-8: nobody can say that it announces anything
        return ""


def _identity(dist: Any) -> tuple[str, str]:
    """Name and version, read by hand: parsing METADATA as mail takes ten times as long."""
    try:
        text = dist.read_text("METADATA") or dist.read_text("PKG-INFO") or ""
    except Exception:  # unreadable, or not UTF-8; its entry points may still work
        return "", ""
    header = text.partition("\n\n")[0]
    # An indented line belongs to the field above it.
    lines = [line.partition(":") for line in header.splitlines() if not line[:1].isspace()]
    fields = {key.strip().lower(): value.strip() for key, _, value in lines}
    return fields.get("name", ""), fields.get("version", "")


def _problem(point: Any) -> str | None:
    if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", point.value):
        return None
    return f"its entry point {point.name} = {point.value!r} does not name a module"


# Plugins that are called otherwise than the extra that brings them.
_BROUGHT_BY = {"ring": "ipc"}


def install_hint(name: str) -> str:
    """The command that installs a plugin or command of this project, or "" if it is not one."""
    extra = _BROUGHT_BY.get(name, name.replace("_", "-"))  # as Provides-Extra spells it
    return working(f'pip install "samebytes[{extra}]"') if extra in extras() else ""
