# SPDX-License-Identifier: Apache-2.0
"""Branches of a pipeline: what they share is not written, and each gets every frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import (
    ElementError,
    NegotiationError,
)

from .pictures import HEIGHT, WIDTH, Collect, add, frames, numbers

THREADS = pytest.mark.parametrize("threads", [0, 1, 3])


@THREADS
def test_branches_read_the_same_frame(threads: int) -> None:
    here, there = Collect(), Collect()
    seen: list[int] = []

    def note(picture: Any) -> None:
        seen.append(picture.planes[0].native.ctypes.data)

    pipe = el.Pipeline(numbers(count=5), add(by=1), [here, note], [there], note)
    assert pipe.run(threads=threads).of("note").frames_in == 5
    assert here.values == there.values == [1, 2, 3, 4, 5]
    assert len(seen) == 10
    assert len(set(seen)) <= 5


def test_what_branches_share_is_not_written() -> None:
    with pytest.raises(NegotiationError, match=r"shared with 'Collect'.*copy=True"):
        el.Pipeline(numbers(), [Collect()], add()).explain()


@THREADS
def test_a_branch_writes_to_a_copy_if_that_is_allowed(threads: int) -> None:
    changed, unchanged = Collect(), Collect()
    pipe = el.Pipeline(numbers(count=3), [add(by=10), changed], unchanged, copy=True)
    assert "COPIES each frame first" in pipe.explain()
    rows = pipe.run(threads=threads)
    assert (changed.values, unchanged.values) == ([10, 11, 12], [0, 1, 2])
    assert sb.stats().copied_bytes == rows.of("add").copied_bytes == 3 * WIDTH * HEIGHT


def passing() -> list[Any]:
    return [lambda picture: picture]


@pytest.mark.parametrize("threads", [0, 1, 2])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("before", "branch"),
    [
        (list, lambda: [add(by=9)]),
        (passing, lambda: [add(by=9)]),
        (passing, lambda: [*passing(), add(by=9)]),
        (passing, lambda: [[Collect()], add(by=9)]),
        (passing, lambda: [*passing(), [add(by=9)]]),
        (lambda: [add(by=0)], lambda: [add(by=9)]),
    ],
)
def test_a_branch_at_the_end_leaves_the_frames_of_the_program(
    before: Any, branch: Any, known: bool, threads: int
) -> None:
    def source() -> Any:
        return numbers(count=3) if known else frames(3)

    after = Collect()
    for call in ("explain", "start"):
        with pytest.raises(NegotiationError, match=r"shared with .*the program.*copy=True"):
            getattr(el.Pipeline(source(), *before(), branch()), call)()
    pipe = el.Pipeline(source(), *before(), [*branch(), after], copy=True)
    with pipe.start(threads=threads) as out:
        came = list(out)
        rows = out.statistics()
    # Only now, when the branch has ended too.
    assert [int(picture.planes[0].native[0, 0]) for picture in came] == [0, 1, 2]
    assert sum(row.copied_bytes for row in rows) == sb.stats().copied_bytes == 3 * WIDTH * HEIGHT
    if not any(isinstance(one, list) for one in branch()):
        assert after.values == [9, 10, 11]


@THREADS
def test_a_branch_that_writes_is_refused_before_anything_is_read(threads: int) -> None:
    read: list[int] = []

    def source() -> Any:
        for one in frames(3):
            read.append(1)
            yield one

    with pytest.raises(NegotiationError, match=r"(?s)'add'.*shared with '<lambda>'.*copy=True"):
        el.Pipeline(source(), [add()], lambda one: one).start(threads=threads)
    assert not read


@THREADS
def test_read_only_frames_are_written_in_a_copy_if_that_is_allowed(threads: int) -> None:
    array = np.zeros((HEIGHT, WIDTH), np.uint8)
    array.flags.writeable = False
    given = [sb.frame(array, format="GRAY8") for _ in range(3)]
    with pytest.raises(NegotiationError, match=r"(?s)'add'.*read-only, as.*copy=True"):
        el.Pipeline(given, add()).run(threads=threads)
    changed = Collect()
    pipe = el.Pipeline(given, add(by=10), changed, copy=True)
    with pipe.start(threads=threads) as out:
        assert len(list(out)) == 3
        assert "COPIES each frame first: it is read-only" in out.explain()
    rows = out.statistics()
    assert (changed.values, bool(array.any())) == ([10, 10, 10], False)
    assert sb.stats().copied_bytes == rows.of("add").copied_bytes == 3 * WIDTH * HEIGHT


@THREADS
def test_branches_get_nothing_that_can_be_written_to(threads: int) -> None:
    def writes(picture: Any) -> None:
        picture.planes[0].native[...] = 0

    with pytest.raises(ElementError, match="read-only"):
        el.Pipeline(numbers(count=2), [Collect()], writes).run(threads=threads)
