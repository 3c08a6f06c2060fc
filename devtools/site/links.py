# SPDX-License-Identifier: Apache-2.0
"""Links of Markdown files, as they are in the repository and as the site needs them.

The pages of docs/ keep their places. Any other file of the repository that a page links to gets a
page of its own below `repository/`: Markdown as it is, everything else as a block of code.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

__all__ = ["files_linked", "linked_pages", "page_of", "rewritten", "shown"]

# What is not prose: blocks of code, and code within a line.
_CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?\[[^\]]*\]\(\s*<?)([^)\s>]+)(>?[^)]*\))")
_ELSEWHERE = re.compile(r"^([a-z][a-z0-9+.-]*:|#|//)", re.IGNORECASE)
_LANGUAGES = {".py": "python", ".toml": "toml", ".c": "c", ".h": "c", ".json": "json"}


def page_of(root: Path, path: PurePosixPath) -> str:
    """The path of a repository's file or folder on the site, below its docs folder."""
    if path.parts[0] == "docs":
        return str(PurePosixPath(*path.parts[1:]))
    place = PurePosixPath("repository", path)
    if (root / path).is_dir():
        return str(place / "README.md")
    return str(place if path.suffix == ".md" else place.with_name(path.name + ".md"))


def rewritten(root: Path, text: str, file: PurePosixPath) -> str:
    """The text of a Markdown file of the repository, with the links that the site needs."""
    here = PurePosixPath(page_of(root, file)).parent

    def link(match: re.Match[str]) -> str:
        if not _is_ours(match):
            return match[0]
        target, _, anchor = match[2].partition("#")
        relative = os.path.relpath(page_of(root, _resolved(file, target)), here)
        return f"{match[1]}{relative}{'#' + anchor if anchor else ''}{match[3]}"

    return _in_prose(text, lambda prose: _LINK.sub(link, prose))


def files_linked(text: str, file: PurePosixPath) -> Iterator[PurePosixPath]:
    """The files of the repository that a Markdown file links to, outside of docs/."""
    prose = _CODE.sub("", text)
    for match in _LINK.finditer(prose):
        if _is_ours(match):
            path = _resolved(file, match[2].partition("#")[0])
            if path.parts[0] != "docs":
                yield path


def linked_pages(root: Path) -> list[PurePosixPath]:
    """Every file and folder outside of docs/ that a page leads to, in one step or in several."""
    waiting = [PurePosixPath(p.relative_to(root)) for p in sorted((root / "docs").rglob("*.md"))]
    found: set[PurePosixPath] = set()
    while waiting:
        file = waiting.pop()
        new = {_described_by(root, path) for path in _leads_to(root, file)} - found
        found |= new
        waiting += sorted(new)
    return sorted(path for path in found if (root / path).exists())


def _described_by(root: Path, path: PurePosixPath) -> PurePosixPath:
    """The README of a folder that has one, else the path itself."""
    readme = path / "README.md"
    return readme if (root / readme).is_file() else path


def _leads_to(root: Path, path: PurePosixPath) -> Iterator[PurePosixPath]:
    if (root / path).is_dir():
        yield from _files(root, path)
    elif path.suffix == ".md" and (root / path).is_file():
        yield from files_linked((root / path).read_text(), path)


def _files(root: Path, folder: PurePosixPath) -> list[PurePosixPath]:
    """The files that a page standing for a folder lists."""
    found = (place for place in (root / folder).iterdir() if place.is_file())
    return sorted(folder / place.name for place in found)


def shown(root: Path, path: PurePosixPath) -> str:
    """The Markdown of the page that stands for a file or folder outside of docs/."""
    if (root / path).is_dir():
        lines = (f"* [{file.name}]({file.name})" for file in _files(root, path))
        return rewritten(root, "\n".join([f"# {path}", "", *lines, ""]), path / "README.md")
    text = (root / path).read_text()
    if path.suffix == ".md":
        return rewritten(root, text, path)
    fence = "````"
    return f"# {path}\n\n{fence}{_LANGUAGES.get(path.suffix, 'text')}\n{text}\n{fence}\n"


def _is_ours(match: re.Match[str]) -> bool:
    return not _ELSEWHERE.match(match[2])


def _resolved(file: PurePosixPath, target: str) -> PurePosixPath:
    return PurePosixPath(os.path.normpath(file.parent / target))


def _in_prose(text: str, change: Callable[[str], str]) -> str:
    """The text with everything changed that is not code."""
    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])
