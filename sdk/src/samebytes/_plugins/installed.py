# SPDX-License-Identifier: Apache-2.0
"""The installed distributions and their metadata.

importlib_metadata could list them, but takes as long to import as everything that the core needs.
So this module reads the folders on sys.path, and asks importlib_metadata only for everything else:
zips, and distributions that other import hooks know.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

__all__ = [
    "Distribution",
    "extras",
    "find_distribution",
    "installed_distributions",
    "normalized",
    "said_of_samebytes",
]


class Distribution(NamedTuple):
    """An installed distribution.

    Attributes:
        spelt: its name in some spelling; "" if the name of its folder does not give it.
        read: returns the text of one of its files; "" if there is none or it cannot be read.
    """

    spelt: str
    read: Callable[[str], str]

    @property
    def name(self) -> str:
        """The normalized name."""
        return normalized(self.spelt)

    def fields(self) -> list[tuple[str, str]]:
        """The fields of METADATA, with names in lower case.

        They are read by hand: parsing them as mail takes ten times as long.
        """
        text = self.read("METADATA") or self.read("PKG-INFO")
        header = text.partition("\n\n")[0]
        # An indented line belongs to the field above it.
        lines = [line.partition(":") for line in header.splitlines() if not line[:1].isspace()]
        return [(key.strip().lower(), value.strip()) for key, _, value in lines]


def installed_distributions() -> Iterator[Distribution]:
    """Every distribution, in the order of sys.path. A distribution may come twice."""
    for place in filter(_is_text, sys.path):
        try:
            names = os.listdir(place or ".")  # noqa: PTH208 - pathlib is slow to import
        except NotADirectoryError:
            yield from _listed_elsewhere(path=[place])
            continue
        except OSError:  # it does not exist or cannot be read
            continue
        for name in names:
            stem, dot, kind = name.rpartition(".")
            if (dot and kind.lower() in ("dist-info", "egg-info")) or name == "EGG-INFO":
                folder = os.path.join(place, name)  # noqa: PTH118 - as above
                yield Distribution(stem.partition("-")[0], _reader(folder))
    for finder in sys.meta_path:
        module = getattr(finder, "__module__", None) or ""
        if hasattr(finder, "find_distributions") and not module.startswith(
            ("_frozen_importlib", "importlib")
        ):
            yield from _listed_elsewhere(finder)


def find_distribution(name: str) -> Distribution | None:
    """The first distribution of a name, or None.

    Args:
        name: as normalized() returns it.
    """
    return next((d for d in installed_distributions() if d.name == name), None)


@cache
def said_of_samebytes(field: str) -> tuple[str, ...]:
    """The values of all fields of that name in the metadata of samebytes.

    Args:
        field: the name of the field in lower case: "requires-dist".
    """
    found = find_distribution("samebytes")
    return tuple(value for name, value in found.fields() if name == field) if found else ()


def extras() -> frozenset[str]:
    """The extras of samebytes."""
    return frozenset(said_of_samebytes("provides-extra"))


def normalized(name: str) -> str:
    """The form that all spellings of a name share: "zope-interface-x" for "zope.Interface_x"."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_text(place: object) -> bool:
    return isinstance(place, str)


def _reader(folder: str) -> Callable[[str], str]:
    def read(name: str) -> str:
        try:
            # Unbuffered bytes: files are small, there are two for each distribution, and opening
            # one in text mode takes twice as long.
            with open(os.path.join(folder, name), "rb", 0) as file:  # noqa: PTH118, PTH123
                return file.read().decode().replace("\r\n", "\n")
        except (OSError, ValueError):
            return ""

    return read


def _listed_elsewhere(finder: Any = None, **where: Any) -> Iterator[Distribution]:
    import importlib_metadata

    library: Any = importlib_metadata
    if finder is None:
        found = library.distributions(**where)
    else:
        found = finder.find_distributions(library.DistributionFinder.Context())
    for one in found:

        def read(name: str, one: Any = one) -> str:
            try:
                return one.read_text(name) or ""
            except Exception:  # unreadable, or not UTF-8
                return ""

        yield Distribution(one.name or "", read)
