# SPDX-License-Identifier: Apache-2.0
"""The page that says which mapping copies is what the plugins declare."""

from __future__ import annotations

import re
from typing import Literal

import pytest

import samebytes
from devtools.edge_page import PAGE, edges_of_all_plugins, page
from samebytes import Transfer
from samebytes.plugins import MapperSpec

from .test_graph_picture import DISTRIBUTIONS


def test_the_page_is_up_to_date() -> None:
    """`python3 dev.py edges` writes it."""
    there = {plugin.distribution for plugin in samebytes.installed_plugins()}
    for name in DISTRIBUTIONS:
        if name not in there:
            pytest.skip(f"missing package {name}: the page has the edges of all")
    assert page(edges_of_all_plugins()) == PAGE.read_text(), "python3 dev.py edges"


def test_it_is_read_in_one_sitting() -> None:
    text = PAGE.read_text()
    assert 40 <= len(re.findall(r"^\| [\w:]+ -> ", text, re.MULTILINE)) <= 80
    assert len(text.split()) < 2000


def spec(
    transfer: Transfer,
    summary: str,
    level: Literal["tensor", "frame"] = "tensor",
    only: str = "",
) -> MapperSpec:
    return MapperSpec(
        source="a", target="b", mapper="m:M", transfer=transfer, summary=summary, level=level,
        only=only,
    )  # fmt: skip


def test_edges_of_tensors_and_frames_share_a_row() -> None:
    made = page([
        spec(Transfer.COPY, "a new one"),
        spec(Transfer.ALIAS, "its planes", "frame", "whole pages"),
        spec(Transfer.ALIAS, "itself", only="whole pages"),
    ])  # fmt: skip
    rows = [line for line in made.splitlines() if line.startswith("| a -> b ")]
    assert rows == [
        "| a -> b | ALIAS | whole pages | r, w, rw | itself |",
        "| a -> b | COPY |  | r, w, rw | a new one |",
    ]
