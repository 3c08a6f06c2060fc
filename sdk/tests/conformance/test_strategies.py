# SPDX-License-Identifier: Apache-2.0
"""The strategies draw what they say, and all of it; layouts lie where they say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from samebytes import ImageInfo, TensorInfo
from samebytes.formats import known_formats
from samebytes.testing import (
    ArrayMemory,
    ImageLayout,
    Layout,
    Layouts,
    TensorSuite,
    address_of,
    strategies,
)

pytestmark = pytest.mark.together

ODDITIES = list(Layouts.__dataclass_fields__)
repeatable = settings(derandomize=True, database=None, deadline=None, max_examples=200)
searching = settings(
    repeatable, max_examples=5_000, suppress_health_check=list(HealthCheck),
    phases=(Phase.generate,),
)  # fmt: skip


def layouts_without(*refused: str) -> Layouts:
    """The declaration that refuses these oddities."""
    return Layouts(**dict.fromkeys(refused, False))


def example_of(oddity: str) -> Layout:
    """The layout that suites try where that oddity is declared."""
    seen: list[Layout] = []

    class Noting(ArrayMemory):
        layouts = Layouts(**{oddity: True})

        def over(self, array: np.ndarray[Any, Any]) -> Any:
            low, _ = TensorInfo.of(array).extent
            place = (address_of(array) + low) % 4096
            seen.append(Layout(TensorInfo.of(array), place, not array.flags.writeable))
            return super().over(array)

    class Suite(TensorSuite):
        memory = Noting()
        cases = (TensorInfo("uint8", (4,)),)

    Suite().test_declared_layouts(oddity)
    return seen[0]


@pytest.mark.parametrize("oddity", ODDITIES)
def test_every_oddity_is_drawn_and_has_an_example(oddity: str) -> None:
    this = layouts_without(oddity)
    others = layouts_without(*(one for one in ODDITIES if one != oddity))

    def is_odd_in_that_alone(layout: Layout) -> bool:
        return this.refuses(layout) and not others.refuses(layout)

    find(strategies.layouts(readonly=True), is_odd_in_that_alone, settings=searching)
    assert is_odd_in_that_alone(example_of(oddity))


@pytest.mark.parametrize("oddity", ODDITIES)
def test_an_oddity_can_be_left_out(oddity: str) -> None:
    left_out: Any = {oddity: False}

    @repeatable
    @given(layout=strategies.layouts(**left_out))
    def check(layout: Layout) -> None:
        assert not layouts_without(oddity).refuses(layout)

    check()


@repeatable
@given(layout=strategies.layouts(("uint8", "float32"), readonly=True))
def test_an_array_lies_as_the_layout_says(layout: Layout) -> None:
    array = layout.array()
    assert TensorInfo.of(array) == layout.info
    assert array.flags.writeable != layout.readonly
    if layout.info.size:
        low, _ = layout.info.extent
        assert (address_of(array) + low) % 4096 == layout.offset % 4096


@given(layout=strategies.layouts(shape=(3, 5), max_dims=1))
@repeatable
def test_a_given_shape_is_kept(layout: Layout) -> None:
    assert layout.info.shape == (3, 5)


@repeatable
@given(image=strategies.images(odd=False))
def test_even_images_are_divided_by_their_subsampling(image: ImageInfo) -> None:
    for plane in image.format.planes:
        assert image.width % (1 << plane.x_shift) == 0
        assert image.height % (1 << plane.y_shift) == 0
        assert image.width % plane.x_multiple == 0


@repeatable
@given(layout=strategies.image_layouts(negative=True, readonly=True))
def test_planes_lie_as_the_layout_says(layout: ImageLayout) -> None:
    arrays = layout.arrays()
    ends = 0
    for array, plane in zip(arrays, layout.planes, strict=True):
        assert (array.shape, array.strides) == (plane.shape, plane.strides)
        assert array.flags.writeable != layout.readonly
        assert plane.start >= ends, "planes do not overlap"
        ends = plane.start + plane.span
    assert {a.dtype for a in arrays} == {np.dtype(p.dtype) for p in layout.planes}


@pytest.mark.parametrize("name", [str(known) for known in known_formats()])
def test_every_format_can_be_drawn(name: str) -> None:
    wanted: Callable[[ImageLayout], bool] = lambda layout: layout.image.width % 2 == 1  # noqa: E731
    drawn = find(strategies.image_layouts([name]), wanted, settings=searching)
    assert str(drawn.image.format) == name


def test_without_hypothesis_the_error_says_what_to_install() -> None:
    code = """
import sys
sys.modules["hypothesis"] = None
try:
    from samebytes.testing import strategies
except ImportError as error:
    print(error, error.name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "needs hypothesis: pip install " in done.stdout
    assert done.stdout.endswith("hypothesis\n")
