# SPDX-License-Identifier: Apache-2.0
"""Checks of what the Markdown files install: does it exist, and where does it come from?

No test runs these lines, so they are read instead. While samebytes is not on PyPI, the pages below
docs install folders of a checkout. The README of a distribution names the package: it is the page
that PyPI shows.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from devtools import metadata
from devtools.workspace import DISTRIBUTIONS, ROOT

__all__ = ["PUBLISHED", "of_page", "unknown_extras", "unknown_folders"]

# Whether `pip install samebytes` works: the hints of samebytes say so, and have the switch.
_SWITCH = ROOT / "sdk/src/samebytes/_plugins/installing.py"
PUBLISHED = "\nPUBLISHED = True\n" in _SWITCH.read_text()

_INSTALL = re.compile(r"pip install ([^`\n#]*)")
_FENCED = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
# What programs print: errors name the package, as it will be called.
_PRINTED = "text"
_FROM_INDEX = re.compile(r"(?<![\w./$-])samebytes[\w-]*(?:\[[\w,-]*\])?")
_FOLDER = re.compile(r"(?:\./|\$S/)([\w/]+)(?:\[([\w,-]+)\])?")


def of_page(page: str, text: str, *, published: bool = PUBLISHED) -> list[tuple[int, str]]:
    """(line, what is wrong) of what a page asks its reader to install.

    Args:
        page: the file, below the root.
        text: what is in it.
        published: whether samebytes is on PyPI.
    """
    found = []
    for number, line in _installs(text):
        found += [(number, f"{name} does not exist") for name in unknown_folders(line, _folders())]
        if page.startswith("docs/") and not published and "--find-links" not in line:
            for name in _FROM_INDEX.findall(line):
                said = f"{name} is not on PyPI: install folders of a checkout, as README.md does"
                found.append((number, said))
    return found


def unknown_extras(code: str, known: Mapping[str, set[str]] | None = None) -> list[str]:
    """The extras of samebytes' distributions in some code that do not exist.

    Args:
        code: lines of a shell.
        known: the extras by distribution; by default those of this repository.
    """
    extras = _extras() if known is None else known
    return [
        f"{name}[{extra}]"
        for name, several in re.findall(r"(samebytes[\w-]*)\[([\w,-]+)\]", code)
        for extra in several.split(",")
        if extra not in extras.get(name, set())
    ]


def unknown_folders(line: str, known: Mapping[str, set[str]]) -> list[str]:
    """The folders that a line installs, or extras of them, that are not there.

    Args:
        line: of a shell.
        known: the extras by folder.
    """
    found = []
    for folder, extras in _FOLDER.findall(line):
        if folder not in known:
            found.append(folder)
        else:
            asked = extras.split(",") if extras else []
            found += [f"{folder}[{extra}]" for extra in asked if extra not in known[folder]]
    return found


def _installs(text: str) -> Iterator[tuple[int, str]]:
    """The line number, and what follows `pip install`, in text that is not printed by a program."""
    read = _FENCED.sub(lambda block: _blank(block) if block[2] == _PRINTED else block[0], text)
    for found in _INSTALL.finditer(re.sub(r"\\\n", "  ", read)):
        yield read.count("\n", 0, found.start()) + 1, found[1]


def _blank(block: re.Match[str]) -> str:
    return "\n" * block[0].count("\n")


@cache
def _extras() -> dict[str, set[str]]:
    """The extras of every distribution, by its name."""
    projects = [metadata.read(d.path)["project"] for d in DISTRIBUTIONS]
    return {p["name"]: set(p.get("optional-dependencies", {})) for p in projects}


@cache
def _folders() -> dict[str, set[str]]:
    return {d.folder: _extras()[d.name] for d in DISTRIBUTIONS}
