# SPDX-License-Identifier: Apache-2.0
"""Print, as JSON, what each distribution that is named needs, of those that are installed.

For the Python of .venv: `python -m devtools.installed_needs samebytes-dma ...`.
"""

import json
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["needs"]


def needs(name: str) -> dict[str, list[str]]:
    """The requirements of a distribution without extras, and theirs, by canonical names.

    Requirements of an extra count where somebody asks for that extra.
    """
    found: dict[str, set[str]] = {}
    waiting, seen = [(canonicalize_name(name), frozenset[str]())], set()
    while waiting:
        asked = waiting.pop()
        if asked in seen:
            continue
        seen.add(asked)
        direct = found.setdefault(asked[0], set())
        for requirement in _requirements(*asked):
            needed = canonicalize_name(requirement.name)
            direct.add(needed)
            waiting.append((needed, frozenset(requirement.extras)))
    return {name: sorted(direct) for name, direct in sorted(found.items())}


def _requirements(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": e}) for e in ("", *extras)):
            try:
                distribution(requirement.name)
            except PackageNotFoundError:
                continue  # for another Python or system
            yield requirement


if __name__ == "__main__":
    print(json.dumps({name: needs(name) for name in sys.argv[1:]}))
