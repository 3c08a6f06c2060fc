# SPDX-License-Identifier: Apache-2.0
"""Build the site, check that it asks no other host for anything, and lay out its versions.

The layout is mike's, so that mike, or a copy of the folder, can publish it: a folder for each
version, `latest`, which leads to the newest, and versions.json, which the theme's selector reads.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from devtools import metadata
from devtools.results import Result
from devtools.venv import PYTHON
from devtools.workspace import CORE, ROOT, run

__all__ = ["SITE", "foreign", "raw_fences", "serve", "site", "version"]

SITE = ROOT / "build" / "site"
# MkDocs reads it. Material would print a page of advertisement about a later MkDocs.
_ENVIRONMENT = {"NO_MKDOCS_2_WARNING": "1"}
# What a browser loads by itself. A link that the reader has to follow may lead anywhere.
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|preconnect|icon))[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//""",
    re.IGNORECASE,
)
# What may have fences in it: a block of code, and code within a line, which spells one out.
_SHOWN_AS_IT_IS = re.compile(
    r"<(pre|script|style|textarea)\b.*?</\1>|<code[^>]*>(?!\w+ [^\n<]*\n|\w+\n)[^<]*</code>",
    re.DOTALL,
)
_RAW_FENCE = re.compile(r"(```|~~~)[^\n]*|<code>(python|sh|toml|json|text|c)( [^\n<]*)?\n")
_REDIRECT = """\
<!doctype html>
<meta charset="utf-8">
<title>samebytes</title>
<meta http-equiv="refresh" content="0; url={0}/">
<a href="{0}/">samebytes {0}</a>
"""


def site(folder: Path = SITE) -> Result:
    """Build the site strictly into `folder/VERSION`, in place of what was there.

    Other versions in `folder` stay.
    """
    number = version()
    built = folder / number
    shutil.rmtree(built, ignore_errors=True)
    if _mkdocs("build", "--strict", "--site-dir", str(built)):
        return Result("site", False, "mkdocs build --strict failed: its messages are above")
    found = list(foreign(built))
    for line in found:
        print(line)
    if found:
        return Result("site", False, f"{len(found)} requests to other hosts")
    found = list(raw_fences(built))
    for line in found:
        print(line)
    if found:
        return Result("site", False, f"{len(found)} blocks of code are shown as plain text")
    _lay_out(folder, number)
    pages = sum(1 for _ in built.rglob("index.html"))
    return Result("site", True, f"{pages} pages in {os.path.relpath(built, ROOT)}")


def serve(port: int) -> int:
    """Build the site again whenever a page changes, and show it on this machine alone."""
    return _mkdocs("serve", "--dev-addr", f"127.0.0.1:{port}")


def version() -> str:
    """The folder's name: the version without its last number, as patches change no page."""
    number: str = metadata.read(CORE.path)["project"]["version"]
    return ".".join(number.split(".")[:2])


def foreign(built: Path) -> Iterator[str]:
    """The tags by which pages would load something from other hosts, as `page: the tag`."""
    for page in sorted(built.rglob("*")):
        if page.suffix in (".html", ".css", ".svg"):
            for match in _LOADED.finditer(page.read_text()):
                yield f"{page.relative_to(built)}: {match[0]}"


def raw_fences(built: Path) -> Iterator[str]:
    """Blocks of code that Markdown did not take for such, as `page: how it begins`.

    It knows a language, and options such as title="x". Any other word behind the fence leaves the
    block as text: with its fences, or as code within a line that begins with the language.
    """
    for page in sorted(built.rglob("*.html")):
        for match in _RAW_FENCE.finditer(_SHOWN_AS_IT_IS.sub("", page.read_text())):
            yield f"{page.relative_to(built)}: {match[0].splitlines()[0]}"


def _mkdocs(*words: str) -> int:
    environment = {**os.environ, **_ENVIRONMENT}
    return run([PYTHON, "-m", "mkdocs", *words], env=environment)


def _lay_out(folder: Path, newest: str) -> None:
    """versions.json, `latest` and the page at the top, for the versions that are there."""
    numbers = [place.name for place in folder.iterdir() if re.fullmatch(r"\d+\.\d+", place.name)]
    numbers.sort(key=lambda n: [int(part) for part in n.split(".")], reverse=True)
    versions = [
        {"version": n, "title": n, "aliases": ["latest"] if n == newest else []} for n in numbers
    ]
    (folder / "versions.json").write_text(json.dumps(versions, indent=2) + "\n")
    (folder / "index.html").write_text(_REDIRECT.format("latest"))
    latest = folder / "latest"
    shutil.rmtree(latest, ignore_errors=True)
    latest.mkdir()
    (latest / "index.html").write_text(_REDIRECT.format(f"../{newest}"))
