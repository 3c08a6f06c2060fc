# SPDX-License-Identifier: Apache-2.0
"""Read the entry points of installed distributions, without importing them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .installed import extras, installed_distributions, normalized

__all__ = ["Entry", "entries", "install_hint", "published_hint"]


class Entry(NamedTuple):
    """One entry point: a name and the module it stands for.

    Attributes:
        name: the name of the plugin or command.
        module: its module.
        distribution, version: those that announce it; "" if the metadata do not say.
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
    seen: set[str] = set()
    for found in installed_distributions():
        # For most distributions, this look at the text suffices.
        text = found.read("entry_points.txt")
        if f"[{group}]" not in text:
            continue
        fields = dict(found.fields())
        name, version = fields.get("name", ""), fields.get("version", "")
        key = normalized(name) or text
        if key in seen:  # the same entry point again, further down sys.path
            continue
        seen.add(key)
        for point, sign, module in _lines(text, group):
            if not sign:
                problem = f"its entry_points.txt is malformed: no = in {point!r}"
                yield Entry(name or "?", "", name, version, problem)
                break
            yield Entry(point.strip(), module.strip(), name, version, _problem(point, module))


def _lines(text: str, group: str) -> list[tuple[str, str, str]]:
    """The lines of a group, each as the part before the =, the =, and the part after it."""
    found, here = [], False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            here = line == f"[{group}]"
        elif here and line and not line.startswith("#"):
            found.append(line.partition("="))
    return found


def _problem(point: str, module: str) -> str | None:
    if all(map(str.isidentifier, module.strip().split("."))):
        return None
    return f"its entry point {point.strip()} = {module.strip()!r} does not name a module"


# Plugins whose name differs from that of the extra that installs them.
_BROUGHT_BY = {"ring": "ipc"}


def install_hint(name: str) -> str:
    """The command that installs a plugin or command of this project, or "" if it is not one."""
    from .installing import working  # deferred until something is missing

    return working(published_hint(name))


def published_hint(name: str) -> str:
    """The same command before `working` adapts it: that reads files, and the text may go unread."""
    extra = _BROUGHT_BY.get(name, name.replace("_", "-"))  # as Provides-Extra spells it
    return f'pip install "samebytes[{extra}]"' if extra in extras() else ""
