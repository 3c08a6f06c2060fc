# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from samebytes_demo._delay import DelayLine


def test_the_newest_never_leaves() -> None:
    line: DelayLine[int] = DelayLine(lambda item: True, 5)
    assert [list(line.put(n)) for n in range(4)] == [[], [0], [1], [2]]
    assert list(line.drain()) == [3]


def test_items_leave_in_order_when_they_are_free() -> None:
    free: set[int] = set()
    line: DelayLine[int] = DelayLine(lambda item: item in free, 9)
    assert [list(line.put(n)) for n in range(3)] == [[], [], []]
    free |= {1, 2}
    assert list(line.put(3)) == []  # 0 is not free, and those behind it wait for it
    free.add(0)
    assert list(line.put(4)) == [0, 1, 2]
    assert line.longest == 4
    assert len(line) == 2


def test_the_oldest_leaves_at_the_bound_although_it_is_not_free() -> None:
    line: DelayLine[int] = DelayLine(lambda item: False, 2)
    assert [list(line.put(n)) for n in range(4)] == [[], [], [0], [1]]
    assert line.longest == 2
    assert list(line.drain()) == [2, 3]


def test_a_line_of_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        DelayLine(lambda item: True, 0)
