# SPDX-License-Identifier: Apache-2.0
"""The tests that the page on security names are there, and each is in its table."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/explanation/security.md"


def test_every_test_that_is_named_exists() -> None:
    text, _, table = PAGE.read_text().partition("## Where the tests are")
    rows = re.findall(r"^\| ([\w/]+\.py) \| (.+) \|$", table, re.MULTILINE)
    assert rows
    listed = []
    for path, names in rows:
        code = (ROOT / path).read_text()
        for name in names.split(", "):
            assert re.search(rf"^ *def {name}\(", code, re.MULTILINE), f"{path} has no {name}"
            listed.append(name)
    named = set(re.findall(r"`(test_\w+)`", text))
    assert named == set(listed)
    for file in re.findall(r"`(test_\w+\.py)`", text):
        assert any(ROOT.glob(f"*/*/tests/{file}")), file
