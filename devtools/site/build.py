# SPDX-License-Identifier: Apache-2.0
"""The build of the site, and a check that it loads nothing from other hosts."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from devtools.results import Result
from devtools.venv import PYTHON
from devtools.workspace import ROOT, run

SITE = ROOT / "build" / "site"
# MkDocs reads it; without it, Material prints an advertisement about a later MkDocs.
_ENVIRONMENT = {"NO_MKDOCS_2_WARNING": "1"}
# The tags whose targets a browser loads by itself. Links that a reader follows may lead anywhere.
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|preconnect|icon))[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//""",
    re.IGNORECASE,
)


def site(folder: Path = SITE) -> Result:
    """Build the site strictly into `folder`, replacing its contents."""
    shutil.rmtree(folder, ignore_errors=True)
    if _mkdocs("build", "--strict", "--site-dir", str(folder)):
        return Result("site", False, "mkdocs build --strict failed: its messages are above")
    found = list(foreign(folder))
    for line in found:
        print(line)
    if found:
        return Result("site", False, f"{len(found)} requests to other hosts")
    pages = sum(1 for _ in folder.rglob("index.html"))
    return Result("site", True, f"{pages} pages in {os.path.relpath(folder, ROOT)}")


def serve() -> int:
    """Rebuild the site whenever a page changes, and show it only on this machine."""
    return _mkdocs("serve", "--dev-addr", "127.0.0.1:8000")


def foreign(built: Path) -> Iterator[str]:
    """The tags by which pages would load something from other hosts, as `page: the tag`."""
    for page in sorted(built.rglob("*")):
        if page.suffix in (".html", ".css", ".svg"):
            for match in _LOADED.finditer(page.read_text()):
                yield f"{page.relative_to(built)}: {match[0]}"


def _mkdocs(*words: str) -> int:
    environment = {**os.environ, **_ENVIRONMENT}
    return run([PYTHON, "-m", "mkdocs", *words], env=environment)
