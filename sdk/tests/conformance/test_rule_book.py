# SPDX-License-Identifier: Apache-2.0
"""The rule book as such: numbered, complete, without pytest, and used by both callers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, cast

import numpy as np
import pytest

import samebytes
from samebytes import Context, CpuTensor, DType, Frame, FrameMeta, ImageInfo, Tensor, TensorInfo
from samebytes.testing.rules import CHAPTERS, BrokenRule, NotChecked, all_rules
from samebytes.testing.rules.allocation import planes_share_no_byte
from samebytes.testing.rules.book import rule
from samebytes.testing.rules.contents import SAMEBYTES
from samebytes.testing.rules.dtypes import every_dtype
from samebytes.testing.rules.planes import planes_keep_their_places
from samebytes.testing.rules.readonly import (
    mapping_is_readonly,
    mapping_is_writable,
    native_stays_readonly,
)
from samebytes.testing.rules.subjects import Array, Item

# What check-plugin does while pytest and hypothesis are not installed.
WITHOUT_PYTEST = """
import sys
sys.modules.update(dict.fromkeys(("pytest", "hypothesis")))
from samebytes.testing.rules import all_rules
import samebytes._authors.check.installed, samebytes._authors.check.declaration
print(len(all_rules()))
"""


def test_it_needs_no_pytest() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYTEST], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(all_rules())


def test_the_suites_say_that_they_need_pytest() -> None:
    code = 'import sys; sys.modules["pytest"] = None; from samebytes.testing import Memory'
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "needs pytest: pip install " in done.stderr


def test_numbers_and_sentences_are_taken_once() -> None:
    rules = all_rules()
    for of in ("number", "name", "sentence"):
        assert len({getattr(r, of) for r in rules}) == len(rules)
    for each in rules:
        chapter, _, part = each.number.partition(".")
        assert int(chapter) in CHAPTERS
        assert part.isdecimal()
        assert each.meaning
        assert each.advice


def test_the_parts_of_a_chapter_are_counted_from_one() -> None:
    for chapter in CHAPTERS:
        numbers = [r.number.split(".") for r in all_rules()]
        parts = [part for of, part in numbers if of == str(chapter)]
        assert parts == [str(n + 1) for n in range(len(parts))]


@rule("1.99", "nothing is broken", means="it breaks", do="fix it")
def sample(seen: str | None, error: Exception | None = None) -> str | None:
    if error is not None:
        raise error
    return seen


def test_a_rule_that_holds() -> None:
    assert sample("two of them") == "two of them"
    assert sample(None) == ""
    assert sample.name == "sample"


def test_a_broken_rule_says_which_and_what_it_means() -> None:
    with pytest.raises(BrokenRule) as caught:
        sample(None, BrokenRule("a crack"))
    assert caught.value.seen == "a crack"
    assert caught.value.rule is sample
    assert str(caught.value).splitlines() == [
        "rule 1.99, nothing is broken",
        "  seen: a crack",
        "  which means: it breaks",
        "  to do: fix it",
    ]


def test_what_was_not_checked_is_not_a_finding() -> None:
    with pytest.raises(NotChecked, match="no device"):
        sample(None, NotChecked("no device"))


@pytest.mark.parametrize("swapped", [False, True])
def test_planes_keep_their_places_in_whatever_shapes(swapped: bool) -> None:
    """A target may see a plane as [1, rows, columns, 1]: only the bytes count."""

    def read(frame: Frame) -> list[Array]:
        y, u, v = (array[np.newaxis, :, :, np.newaxis] for array in SAMEBYTES.read(frame))
        return [y, v, u] if swapped else [y, u, v]

    with pytest.raises(BrokenRule, match="plane 1 of I420") if swapped else nullcontext():
        seen = planes_keep_their_places(
            lambda name: samebytes.context("cpu").allocate_frame(name, 8, 8),
            lambda frame: frame.map("cpu"),
            lambda frame: SAMEBYTES.write(frame, 3),
            read,
        )
        assert "I420" in seen


class PaddedRows:
    """A stand-in for a context, which allocates tensors with gaps between their rows."""

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        whole = samebytes.context("cpu").allocate((*shape[:-1], shape[-1] + 3), dtype)
        info = TensorInfo(dtype, shape, whole.strides)  # packed elements have none
        array = np.ndarray(shape, dtype.carrier, np.asarray(whole.storage), 0, info.strides)
        return CpuTensor.owned(array, whole.context, whole.storage, info=info)


@pytest.mark.parametrize("broken", [False, True])
def test_element_types_are_kept_in_padded_rows(broken: bool) -> None:
    def map_(tensor: Tensor) -> Tensor:
        mapped = tensor.map("cpu")
        return samebytes.tensor(mapped.native[::-1]) if broken else mapped

    expected = pytest.raises(BrokenRule, match="uint8: the bytes of its array are others")
    with expected if broken else nullcontext():
        kept = every_dtype(cast(Context, PaddedRows()), (3, 5), map_)
        assert {"bool", "uint8", "bfloat16", "complex128"} <= {*kept.split(", ")}


class Planes:
    """Frames of the CPU whose planes lie so, in one piece of memory."""

    contents = SAMEBYTES
    context = samebytes.context("cpu")

    def __init__(self, strides: list[tuple[int, ...]], offsets: list[int]) -> None:
        self._places = list(zip(strides, offsets, strict=True))

    def allocate(self) -> Frame:
        image = ImageInfo.of("NV12", 8, 4)
        owner = self.context.allocate((200,))
        memory = np.asarray(owner.storage)
        natives = tuple(
            np.ndarray(p.shape, p.dtype, memory, offset, strides)
            for p, (strides, offset) in zip(image.plane_layouts(), self._places, strict=True)
        )
        return Frame.owned(natives, self.context, FrameMeta(image), owner.storage)

    def holders(self, item: Item) -> list[Callable[[], Any]]:
        return []


@pytest.mark.parametrize(
    ("strides", "offsets", "seen"),
    [
        ([(8, 1), (8, 2, 1)], [0, 32], None),
        ([(16, 1), (16, 2, 1)], [0, 64], None),
        ([(16, 1), (16, 2, 1)], [0, 8], None),  # rows of both in turn
        ([(8, 1), (6, 2, 1)], [0, 32], "rows or pixels of plane 1 overlap"),
        ([(4, 1), (8, 2, 1)], [0, 32], "rows or pixels of plane 0 overlap"),
        ([(8, 1), (8, 2, 1)], [0, 31], "plane 0 has what was written to another plane"),
    ],
)
def test_planes_that_share_bytes(
    strides: list[tuple[int, ...]], offsets: list[int], seen: str | None
) -> None:
    with pytest.raises(BrokenRule, match=seen) if seen else nullcontext():
        planes_share_no_byte(Planes(strides, offsets))


def test_what_its_framework_made_read_only() -> None:
    array = np.zeros((4, 4), np.uint8)
    with pytest.raises(BrokenRule, match="is not read-only"):
        native_stays_readonly(samebytes.tensor(array))
    array.flags.writeable = False
    native_stays_readonly(samebytes.tensor(array))


def test_views_that_can_or_cannot_be_written() -> None:
    tensor = samebytes.context("cpu").allocate((4, 4))
    reading = tensor.map("cpu")
    mapping_is_readonly(reading, [reading.native])
    with pytest.raises(BrokenRule, match="view of plane 0 can be written"):
        mapping_is_readonly(reading, [tensor.native])
    mapping_is_writable(tensor, [tensor.native])
    with pytest.raises(BrokenRule, match="view of plane 0 cannot be written"):
        mapping_is_writable(tensor, [reading.native])
    with pytest.raises(BrokenRule, match="what was mapped is readonly"):
        mapping_is_writable(reading, [])
