# SPDX-License-Identifier: Apache-2.0
"""Checks of the packages that the Markdown files install: their existence and their source.

No test runs these lines, so they are read instead. While samebytes is not on PyPI, the pages below
docs install folders of a checkout. The README of a distribution names the package: it is the page
that PyPI shows.
"""

import re
from collections.abc import Mapping
from functools import cache

from devtools import metadata
from devtools.workspace import DISTRIBUTIONS, ROOT

# True once `pip install samebytes` works: the hints of samebytes have the switch.
_SWITCH = ROOT / "sdk/src/samebytes/_plugins/installing.py"
PUBLISHED = "\nPUBLISHED = True\n" in _SWITCH.read_text()

_INSTALL = re.compile(r"pip install ([^`\n#]*)")
# Output of programs: errors name the package by its future name.
_PRINTED = re.compile(r"^( *)```text[^\n]*\n.*?^\1```", re.MULTILINE | re.DOTALL)
_FROM_INDEX = re.compile(r"(?<![\w./$-])samebytes[\w-]*(?:\[[\w,-]*\])?")
# A folder of this repository, or a package of ours, with extras.
_NAMED = re.compile(r"(?:(?:\./|\$S/)([\w/]+)|(?<![\w./$-])(samebytes[\w-]*))(?:\[([\w,-]+)\])?")


def of_page(page: str, text: str, *, published: bool = PUBLISHED) -> list[tuple[int, str]]:
    """The errors in the installs that a page asks of its reader: (line, what is wrong).

    Args:
        page: the file, below the root.
        text: the text of the file.
        published: True if samebytes is on PyPI.
    """
    found = []
    read = _PRINTED.sub(lambda block: "\n" * block[0].count("\n"), text)
    for install in _INSTALL.finditer(re.sub(r"\\\n", "  ", read)):
        number, line = read.count("\n", 0, install.start()) + 1, install[1]
        found += [(number, f"{name} does not exist") for name in unknown(line, _extras())]
        if page.startswith("docs/") and not published and "--find-links" not in line:
            for name in _FROM_INDEX.findall(line):
                said = f"{name} is not on PyPI: install folders of a checkout, as README.md does"
                found.append((number, said))
    return found


def unknown(line: str, known: Mapping[str, set[str]]) -> list[str]:
    """The folders, packages and extras that a line installs and that do not exist.

    Args:
        line: a line for a shell.
        known: the extras by folder and by package.
    """
    found = []
    for folder, package, extras in _NAMED.findall(line):
        name = folder or package
        if name not in known:
            found.append(name)
        else:
            asked = extras.split(",") if extras else []
            found += [f"{name}[{extra}]" for extra in asked if extra not in known[name]]
    return found


@cache
def _extras() -> dict[str, set[str]]:
    """The extras of every distribution, by its name and by its folder."""
    return {
        key: set(metadata.read(d.path)["project"].get("optional-dependencies", {}))
        for d in DISTRIBUTIONS
        for key in (d.name, d.folder)
    }
