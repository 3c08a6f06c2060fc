# SPDX-License-Identifier: Apache-2.0
"""Components that know nothing of each other, and have the same context."""

from __future__ import annotations

import pytest

from samebytes import Context
from samebytes.errors import ClosedError


class Toy(Context):
    """A context of handles."""

    memory_type = node = "toy"

    ended = 0

    def _on_close(self) -> None:
        self.ended += 1


class _Interrupted(list[None]):
    """As where a signal handler raises as soon as the block was counted."""

    def append(self, item: None) -> None:
        super().append(item)
        raise KeyboardInterrupt


def test_the_last_block_closes() -> None:
    context = Toy()
    with context:
        with context:
            pass
        context.check_open()
        inside = context.ended
    assert inside == 0
    assert context.closed
    assert context.ended == 1


def test_close_waits_for_the_block_of_another() -> None:
    context = Toy()
    with context:
        context.close()
        context.check_open()
    assert context.closed
    context.close()
    assert context.ended == 1


def test_an_exception_ends_its_own_block_alone() -> None:
    context = Toy()
    with context:
        with pytest.raises(ZeroDivisionError), context:
            _ = 1 // 0
        context.check_open()
    assert context.closed


def test_a_closed_one_cannot_be_entered() -> None:
    context = Toy()
    context.close()
    for _ in range(2):
        with pytest.raises(ClosedError), context:
            pass
    assert context.ended == 1


def test_a_block_that_is_interrupted_as_it_begins_is_not_counted() -> None:
    context = Toy()
    context._blocks = _Interrupted()
    with pytest.raises(KeyboardInterrupt), context:
        pass
    assert not context._blocks
    context.close()
    assert context.closed
