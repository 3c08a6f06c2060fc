# SPDX-License-Identifier: Apache-2.0
"""What edges require of other plugins."""

from __future__ import annotations

import pytest

from samebytes._plugins.requirements import parse_requirement, satisfies


@pytest.mark.parametrize(
    ("text", "name", "conditions"),
    [
        ("opencl", "opencl", []),
        ("opencl>=1,<2", "opencl", [(">=", (1,)), ("<", (2,))]),
        (" my-plugin == 1.2.3 ", "my-plugin", [("==", (1, 2, 3))]),
        ("a>1,<=10.0", "a", [(">", (1,)), ("<=", (10, 0))]),
    ],
)
def test_parse(text: str, name: str, conditions: list[tuple[str, tuple[int, ...]]]) -> None:
    assert parse_requirement(text) == (name, conditions)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ">=1",
        "a>=",
        "a>=x",
        "a~=1",
        "a!=1",
        "a>=1,",
        "a>=1 <2",
        "a=1",
        "a>=1..2",
        "a>=\u00b2",
        "a b",
    ],
)
def test_nonsense(text: str) -> None:
    with pytest.raises(ValueError, match="is not a requirement"):
        parse_requirement(text)


@pytest.mark.parametrize(
    ("version", "requirement", "met"),
    [
        ("1.0", "a>=1,<2", True),
        ("2.0", "a>=1,<2", False),
        ("2", "a<2.0.0", False),
        ("1.10", "a>1.9", True),
        ("1.2.3.4.5", "a>1.2.3.4.4", True),
        ("1.2rc1", "a>=1.2", True),
        ("1.2.dev3", "a>=1.3", False),
        ("1.0+local", "a==1", True),
        ("v3.1", "a>=3", True),
        ("1!0.5", "a<1", True),
        ("unknown", "a>=1", False),
        ("unknown", "a", True),
    ],
)
def test_satisfies(version: str, requirement: str, met: bool) -> None:
    assert satisfies(version, parse_requirement(requirement)[1]) is met
