# SPDX-License-Identifier: Apache-2.0
"""The metadata common to all distributions, and the parts of package pages that show it.

The addresses of the project are in one place, the table [tool.samebytes.urls] of the root
pyproject.toml. Each distribution has a copy, since a build reads only its own pyproject.toml.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devtools.workspace import CORE, DISTRIBUTIONS, ROOT

AUTHORS = [{"name": "The samebytes authors"}]
# Besides these, each may have its own topics.
CLASSIFIERS = (
    "Development Status :: 3 - Alpha",
    "Intended Audience :: Developers",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: Python :: 3 :: Only",
    "Programming Language :: Python :: 3.11",
    "Programming Language :: Python :: 3.12",
    "Programming Language :: Python :: 3.13",
    "Programming Language :: Python :: 3.14",
    "Typing :: Typed",
)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
# [text](target), [name]: target, and what HTML links to or shows.
_LINK = re.compile(
    r"\]\(\s*<?([^)\s>]+)|^\s*\[[^\]]+\]:\s*<?([^\s>]+)|(?:href|src)=[\"']([^\"']+)", re.MULTILINE
)
_NAME = re.compile(r"`([\w-]+)`")


def read(folder: Path) -> dict[str, Any]:
    """A folder's pyproject.toml."""
    return tomllib.loads((folder / "pyproject.toml").read_text())


def urls() -> dict[str, str]:
    """The addresses that every distribution gives."""
    found: dict[str, str] = read(ROOT)["tool"]["samebytes"]["urls"]
    return found


def complaints() -> list[str]:
    """Every distribution whose metadata is not as it should be, as `folder: what is wrong`."""
    root, common, core = read(ROOT)["project"], urls(), read(CORE.path)["project"]
    found = []
    for distribution in DISTRIBUTIONS:
        project, readme = read(distribution.path)["project"], _readme(distribution.path)
        checks = (
            *_fields(project, core, root, common),
            *(f"README.md: {link} leads nowhere from a package page" for link in relative(readme)),
            *_undocumented(project, readme),
            # Its readers on the package index have found the package.
            *(["README.md: a package page cannot say so"] if "on PyPI yet" in readme else []),
        )
        found += [f"{distribution.folder}: {check}" for check in checks]
    return [*found, *(f"README.md: {c}" for c in folders_installed(_readme(ROOT)))]


def _readme(folder: Path) -> str:
    return (folder / "README.md").read_text()


def _fields(
    project: Mapping[str, Any],
    core: Mapping[str, Any],
    root: Mapping[str, Any],
    common: Mapping[str, str],
) -> list[str]:
    expected = {
        "version": core["version"],
        "requires-python": root["requires-python"],
        "authors": AUTHORS,
        "license": "Apache-2.0",
        "license-files": ["LICENSE"],
        "readme": "README.md",
        "urls": dict(common),
    }
    found = [
        f"{key} is {project.get(key)!r}, expected {value!r}"
        for key, value in expected.items()
        if project.get(key) != value
    ]
    own = sorted(c for c in project["classifiers"] if c.startswith("Topic :: "))
    if project["classifiers"] != sorted([*CLASSIFIERS, *own]):
        found.append("the classifiers are not those of all distributions and topics, in order")
    return found


def relative(text: str) -> list[str]:
    """The links of a README that work only in the repository.

    Links within the page (`#heading`) are among them: package indexes rename headings.
    """
    prose = _CODE.sub("", _FENCE.sub("", text))
    links = [next(filter(None, groups)) for groups in _LINK.findall(prose)]
    return [link for link in links if not link.startswith(("https://", "http://", "mailto:"))]


def _undocumented(project: Mapping[str, Any], readme: str) -> list[str]:
    named = set(_NAME.findall(readme))
    for several in re.findall(rf"{re.escape(project['name'])}\[([\w,-]+)\]", readme):
        named |= set(several.split(","))
    extras = project.get("optional-dependencies", {})
    return [f"README.md does not name the extra {e}" for e in extras if e not in named]


def folders_installed(readme: str) -> list[str]:
    """The errors in the `pip install ./FOLDER ...` lines of a README in the root.

    Each must name all distributions of this repository that its folders need: no index has them.
    """
    found, by_folder = [], {d.folder: d for d in DISTRIBUTIONS}
    for line in re.findall(r"^pip install (.*\./.*)$", readme, re.MULTILINE):
        named = re.findall(r"\./([\w/]+)", line)
        found += [f"{folder} is not a distribution" for folder in named if folder not in by_folder]
        there = {by_folder[folder].name for folder in named if folder in by_folder}
        for folder in filter(by_folder.__contains__, named):
            for requirement in read(by_folder[folder].path)["project"]["dependencies"]:
                name = re.split(r"[^\w-]", requirement)[0]
                if name.startswith("samebytes") and name not in there:
                    found.append(f"{folder} needs {name}, which the line does not install")
    return found
