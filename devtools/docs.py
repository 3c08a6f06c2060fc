# SPDX-License-Identifier: Apache-2.0
"""Check the repository's Markdown files: links lead somewhere, and blocks of code run."""

import re
from pathlib import Path
from urllib.parse import unquote

from devtools import blocks
from devtools.results import Result
from devtools.site.links import slug
from devtools.workspace import ROOT

_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def docs(root: Path = ROOT) -> Result:
    """Check every Markdown file below `root`.

    A relative link must lead to a file, and its #heading to one in it. A block of code must be run
    by a test, or say why it is not.
    """
    pages = list(blocks.pages(root))
    broken = [f"{page.relative_to(root)}: {link}" for page in pages for link in broken_links(page)]
    wrong = blocks.complaints(root)
    for line in [*broken, *wrong]:
        print(line)
    if broken or wrong:
        summary = f"{len(broken)} broken links, {len(wrong)} wrong blocks of code"
    else:
        number = sum(len(blocks.blocks_of(page, root)) for page in pages)
        summary = f"the links of {len(pages)} pages lead on, and {number} blocks run or say why not"
    return Result("docs", not (broken or wrong), summary)


def broken_links(page: Path) -> list[str]:
    """The links of one page that lead to no file, or to no heading of one."""
    text = _CODE.sub("", blocks.FENCE.sub("", page.read_text()))
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
    headings = _HEADING.findall(blocks.FENCE.sub("", text))
    return {slug(heading) for heading in headings}
