# SPDX-License-Identifier: Apache-2.0
"""Find phrases that this project once used and that are not plain English."""

import re
from collections.abc import Iterator
from pathlib import Path

from devtools.workspace import ROOT, source_files

# "there is no device" and "is no longer open" are fine.
_USUAL = "longer|more|such|other|reason|failure|larger"
# What to look for, and what to write in its place.
_PHRASES = (
    (rf"(?<!here )\b(is|are|was|were) no (?!({_USUAL})\b)(?=\w)", '"is not a ..."'),
    (r"\b(is|are|was|were) no more\b(?! than)", '"is gone" or "no longer ..."'),
    (r"\bcame along\b", '"received"'),
    (r"\banew\b", '"again" or "new"'),
    (r"\bfor ever\b", '"forever"'),
    (r"\blet(s|ting)? go (of|at)\b|\b(is|are|was|were|been) let go\b", '"release" or "drop"'),
    (r"\bmend(s|ed|ing)\b|\bto mend\b", '"fix"'),
    (r"\b(tells|told)\b(?!.*\bapart\b)", '"report", "say" or "pass"'),
    (r"\bstrangers?\b", '"another process", "an untrusted sender"'),
)
_FOUND = tuple((re.compile(phrase), instead) for phrase, instead in _PHRASES)
_SUFFIXES = (".py", ".md", ".c", ".h", ".tmpl")
# These have the phrases in order to find them, or quote what was once released.
_EXEMPT = frozenset(
    Path(name)
    for name in (
        "CHANGELOG.md",
        "devtools/wording.py",
        "devtools/tests/test_wording.py",
    )
)


def complaints_about_words() -> list[str]:
    """Every such phrase in the repository, as `path:line: what to write`."""
    return [
        f"{path.relative_to(ROOT)}:{complaint}"
        for path in source_files(*_SUFFIXES)
        if path.relative_to(ROOT) not in _EXEMPT
        for complaint in check_words(path.read_text())
    ]


def check_words(text: str) -> Iterator[str]:
    """The phrases in one file, as `line: what to write`."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.replace("_", " ")  # in names too
        for phrase, instead in _FOUND:
            if found := phrase.search(words):
                yield f"{number}: {found[0].strip()!r}: write {instead}"
