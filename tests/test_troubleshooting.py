# SPDX-License-Identifier: Apache-2.0
"""The page that leads from messages to remedies quotes messages that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import samebytes as sb
from samebytes import errors

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "troubleshoot.md"
_ROW = re.compile(r"^\| `(.+?)`[^|]* \|", re.MULTILINE)
_FOREIGN = re.compile(r"`([^`]+)` \((?:OpenCV|NumPy)\)")
# Where texts stand that the list of errors does not have: the classes make them, or the command.
SOURCES = (
    ROOT / "docs" / "reference" / "errors.md",
    Path(errors.__file__),
    Path(errors.__file__).parent / "_no_elements.py",
    Path(errors.__file__).parent / "_cli" / "listing.py",
    Path(errors.__file__).parent / "_plugins" / "listing.py",
)


def quoted() -> list[str]:
    """The messages of the tables, each piece between `...` for itself."""
    _, _, tables = PAGE.read_text().partition("## Messages")
    rows = _ROW.findall(tables.partition("## It runs, and the numbers")[0])
    pieces = {piece.strip() for row in rows for piece in row.split("...") if piece.strip()}
    return sorted(pieces - set(_FOREIGN.findall(tables)))


@pytest.mark.parametrize("text", quoted())
def test_the_message_exists(text: str) -> None:
    assert any(text in " ".join(source.read_text().split()) for source in SOURCES), text


def test_the_messages_of_other_libraries() -> None:
    array = np.zeros((8, 8), np.uint8)
    array.setflags(write=False)
    tensor: Any = sb.tensor(array)
    said = []
    for use in (
        lambda: cv2.line(array, (0, 0), (7, 7), 255),
        lambda: array.fill(1),
        lambda: cv2.resize(tensor, (4, 4)),
    ):
        with pytest.raises((cv2.error, ValueError)) as caught:
            use()
        said.append(str(caught.value))
    found = _FOREIGN.findall(PAGE.read_text())
    assert len(found) == 3
    for text in found:
        assert any(text in one for one in said), (text, said)


def test_the_tables_were_found() -> None:
    assert len(quoted()) > 20
