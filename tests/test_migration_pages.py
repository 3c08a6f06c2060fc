# SPDX-License-Identifier: Apache-2.0
"""The pages for those who come from elsewhere name only what exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGES = [
    Path(__file__).parents[1] / "docs" / "how-to" / f"{name}.md"
    for name in ("from-dl-streamer", "from-openvino-remote-api", "replace-gvapython")
]
# In code of a sentence, of a table or of a block: `samebytes_dma.from_fd(...)`, `samebytes.Tensor`.
NAME = re.compile(r"\bsamebytes(?:_\w+)?(?:\.[A-Za-z_]\w*)+")
IMPORT = re.compile(r"^from (samebytes[\w.]*) import ([\w, ]+)$", re.MULTILINE)
LINK = re.compile(r"\]\([^)]*\)")
# A table whose head says where the names in its last column are.
TABLE = re.compile(r"^\|.*, in `(samebytes[\w.]*)` \|\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)
IN_TABLE = re.compile(r"`([A-Za-z_]\w*)[`(]")


def named(page: Path) -> set[str]:
    text = page.read_text()
    imported = {
        f"{module}.{name.split()[0]}"
        for module, names in IMPORT.findall(text)
        for name in names.split(",")
    }
    in_tables = {
        f"{module}.{name}"
        for module, rows in TABLE.findall(text)
        for row in rows.splitlines()
        for name in IN_TABLE.findall(row.split("|")[-2])
    }
    return imported | in_tables | set(NAME.findall(LINK.sub("", text)))


def missing(name: str) -> str:
    """The part of a dotted name that does not exist, or ""."""
    first, *rest = name.split(".")
    found, path = importlib.import_module(first), first
    for part in rest:
        path += f".{part}"
        if not hasattr(found, part):
            try:
                importlib.import_module(path)
            except ModuleNotFoundError:
                return path
        found = getattr(found, part)
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_exists(page: Path) -> None:
    names = named(page)
    assert len(names) >= 3
    for name in sorted(names):
        try:
            assert missing(name) == ""
        except ModuleNotFoundError as error:
            pytest.skip(f"missing package {error.name}")


def test_a_name_that_does_not_exist_is_noticed() -> None:
    assert missing("samebytes.errors.BusyError") == ""
    assert missing("samebytes.errors.NoSuchError.name") == "samebytes.errors.NoSuchError"
    assert missing("samebytes.no_such") == "samebytes.no_such"
