# SPDX-License-Identifier: Apache-2.0
"""Links and marks of Markdown files, in the form of the repository and in that of the site.

The pages of docs/ keep their places. Any other file of the repository that a page links to gets a
page of its own below `repository/`: Markdown as it is, everything else as a block of code.
"""

import os
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

# Everything but prose: blocks of code, and code within a line.
_CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?\[[^\]]*\]\(\s*<?)(?![a-zA-Z][\w+.-]*:|#|//)([^)\s>#]+)([^)]*\))")
_DEVICES = re.compile(r"^<!-- runs on: ([^>]+?) -->\n", re.MULTILINE)
_DEVICE_NAMES = {
    "gpu": "an Intel GPU",
    "npu": "an Intel NPU",
    "vaapi": "a GPU with VA-API",
    "cuda": "an NVIDIA GPU",
}
_HELP = "how-to/test-without-hardware.md"
_LANGUAGES = {".py": "python", ".toml": "toml", ".c": "c", ".h": "c", ".json": "json"}


def slug(heading: str, separator: str = "-") -> str:
    """The anchor of a heading, as GitHub names it: a link works there and on the site."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def page_of(root: Path, path: PurePosixPath) -> str:
    """The path on the site, below its docs folder, of a file or folder of the repository."""
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
        target = page_of(root, _resolved(file, match[2]))
        return f"{match[1]}{os.path.relpath(target, here)}{match[3]}"

    return _in_prose(text, lambda prose: _LINK.sub(link, prose))


def with_devices(markdown: str, page: str) -> str:
    """The text of a page, with a line in place of each comment that names devices.

    Args:
        markdown: the text of the page.
        page: its path below the folder of the documents, from which links lead.
    """
    link = posixpath.relpath(_HELP, posixpath.dirname(page) or ".")

    def shown(mark: re.Match[str]) -> str:
        names = " and ".join(_DEVICE_NAMES[name] for name in mark[1].split(", "))
        return f"\n*Runs on {names}, or [software devices]({link}).*\n\n"

    return _in_prose(markdown, lambda prose: _DEVICES.sub(shown, prose))


def linked_pages(root: Path) -> list[PurePosixPath]:
    """Every file and folder outside of docs/ to which pages link, directly or indirectly."""
    waiting = [PurePosixPath(p.relative_to(root)) for p in sorted((root / "docs").rglob("*.md"))]
    found: set[PurePosixPath] = set()
    while waiting:
        for path in _leads_to(root, waiting.pop()):
            described = path / "README.md" if (root / path / "README.md").is_file() else path
            new = described.parts[0] != "docs" and described not in found
            if new and (root / described).exists():
                found.add(described)
                waiting.append(described)
    return sorted(found)


def shown(root: Path, path: PurePosixPath) -> str:
    """The Markdown of the page that stands for a file or folder outside of docs/."""
    if (root / path).is_dir():
        lines = (f"* [{file.name}]({file.name})" for file in _leads_to(root, path))
        return rewritten(root, "\n".join([f"# {path}", "", *lines, ""]), path / "README.md")
    text = (root / path).read_text()
    if path.suffix == ".md":
        return rewritten(root, text, path)
    return f"# {path}\n\n````{_LANGUAGES.get(path.suffix, 'text')}\n{text}\n````\n"


def _leads_to(root: Path, path: PurePosixPath) -> Iterator[PurePosixPath]:
    """The files of a folder, or the targets of a Markdown file's links."""
    if (root / path).is_dir():
        yield from (path / p.name for p in sorted((root / path).iterdir()) if p.is_file())
    elif path.suffix == ".md":
        prose = _CODE.sub("", (root / path).read_text())
        yield from (_resolved(path, match[2]) for match in _LINK.finditer(prose))


def _resolved(file: PurePosixPath, target: str) -> PurePosixPath:
    return PurePosixPath(os.path.normpath(file.parent / target))


def _in_prose(text: str, change: Callable[[str], str]) -> str:
    """The text with everything but code changed."""
    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])
