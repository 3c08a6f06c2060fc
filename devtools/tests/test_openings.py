# SPDX-License-Identifier: Apache-2.0
"""Docstrings whose first word says nothing."""

import pytest

from devtools.openings import check_openings


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('"""What holds memory."""\n', 1),
        ('def f():\n    """Whether it is open."""\n', 2),
        ('class A:\n    """Those of one ring."""\n', 2),
        ('class A:\n    x: int\n    """Which of them it is."""\n', 3),
        ('if True:\n    async def f():\n        """\n        Why not."""\n', 3),
    ],
)
def test_it_is_found(text: str, line: int) -> None:
    (found,) = check_openings(text)
    assert found.startswith(f"{line}: a docstring opens with")


@pytest.mark.parametrize(
    "text",
    [
        '"""The holders of memory."""\n',
        'def f():\n    """True if it is open."""\n    return "What it is"\n',
        'X = 1\n"""The number of rings; what is more is refused."""\n',
        'print(1)\n"""What follows a call is not a docstring."""\n',
        "def f(): ...\n",
    ],
)
def test_others_are_left_alone(text: str) -> None:
    assert not list(check_openings(text))
