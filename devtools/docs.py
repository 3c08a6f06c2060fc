# SPDX-License-Identifier: Apache-2.0
"""Check that the links between the repository's Markdown files lead somewhere."""

import re
from pathlib import Path
from urllib.parse import unquote

from devtools.results import Result
from devtools.workspace import ROOT, source_files

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def docs(root: Path = ROOT) -> Result:
    """Check every relative link, with its #heading, of every Markdown file below `root`."""
    pages = list(source_files(".md", below=root))
    broken = [f"{page.relative_to(root)}: {link}" for page in pages for link in broken_links(page)]
    for line in broken:
        print(line)
    summary = (
        f"{len(broken)} broken links" if broken else f"the links of {len(pages)} pages lead on"
    )
    return Result("docs", not broken, summary)


def broken_links(page: Path) -> list[str]:
    """The links of one page that lead to no file, or to no heading of one."""
    text = _CODE.sub("", _FENCE.sub("", page.read_text()))
    return [link for link in _LINK.findall(text) if not _leads_on(page, link)]


def _leads_on(page: Path, link: str) -> bool:
    if _ELSEWHERE.match(link):
        return True
    path, _, anchor = unquote(link).partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return False
    return not anchor or target.suffix != ".md" or anchor in _anchors(target.read_text())


def _anchors(text: str) -> set[str]:
    """The headings as GitHub names them: small letters, hyphens for spaces, no punctuation."""
    headings = _HEADING.findall(_FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
