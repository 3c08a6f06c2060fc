# SPDX-License-Identifier: Apache-2.0
"""Pipelines on a cluster of two nodes: tests/cluster/scenarios.py has what is run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from .conftest import Driver

SCENARIOS = ast.parse((Path(__file__).parent / "cluster/scenarios.py").read_text())
HELPERS = {"folder", "seen", "numbers", "is_gone", "in_store"}
NAMES = [n.name for n in SCENARIOS.body if isinstance(n, ast.FunctionDef) and n.name not in HELPERS]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_on_a_cluster(name: str, driver: Driver) -> None:
    driver(name)
