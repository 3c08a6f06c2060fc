# SPDX-License-Identifier: Apache-2.0
"""Functions of elements of which nothing would run, and results that nobody would use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError

from .pictures import frame


def yields(frame: Any) -> Iterator[Any]:
    yield frame


async def awaits(frame: Any) -> Any:
    return frame


class Awaits:
    async def __call__(self, frame: Any) -> Any:
        return frame


async def gives() -> AsyncIterator[Any]:
    yield frame(0)


@pytest.mark.parametrize("decorator", [el.inplace, el.sink])
def test_what_passes_frames_on_does_not_yield(decorator: Callable[..., Any]) -> None:
    for function in (yields, partial(yields)):
        with pytest.raises(TypeError, match="yields, and would never run: leave `yield` out"):
            decorator(function)


@pytest.mark.parametrize("decorator", [el.inplace, el.sink, el.transform])
@pytest.mark.parametrize("function", [awaits, Awaits(), partial(awaits)])
def test_no_element_awaits(decorator: Callable[..., Any], function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="is `async def`, and a pipeline awaits none"):
        decorator(function)


def test_no_pipeline_awaits_a_plain_function() -> None:
    with pytest.raises(TypeError, match=r"awaits\(\) is `async def`"):
        el.Pipeline([frame(0)], awaits)


def test_no_source_awaits() -> None:
    with pytest.raises(TypeError, match=r"gives\(\) is `async def`"):
        el.source(gives)


@pytest.mark.parametrize(
    ("base", "method", "instead"),
    [
        (el.Source, "read", "return one frame for each call"),
        (el.TransformInplace, "process", "leave `yield` out"),
        (el.Sink, "write", "leave `yield` out"),
    ],
)
def test_nor_do_classes(base: type, method: str, instead: str) -> None:
    with pytest.raises(
        TypeError, match=rf"Own.{method}\(\) yields, and would never run: {instead}"
    ):
        type("Own", (base,), {method: yields})
    with pytest.raises(TypeError, match=rf"Own.{method}\(\) is `async def`"):
        type("Own", (base,), {method: awaits})


def test_a_transform_yields() -> None:
    with el.Pipeline([frame(0), frame(1)], el.transform(yields)()).start() as out:
        assert len(list(out)) == 2


def test_a_source_that_forgot_to_yield() -> None:
    def forgot() -> None:
        pass

    with pytest.raises(ElementError, match=r"forgot\(\) returned None: it must `yield` frames"):
        el.Pipeline(el.source(forgot)()).run()


@pytest.mark.parametrize("threads", [0, 2])
def test_another_frame_is_not_passed_on_in_place(threads: int) -> None:
    def another(_: sb.Frame) -> sb.Frame:
        return sb.frame(np.zeros((2, 2), "uint8"), format="GRAY8")

    pipe = el.Pipeline([frame(0)], el.inplace(another)())
    with pytest.raises(ElementError, match=r"it returned another frame, .* make it a Transform"):
        pipe.run(threads=threads)


def test_its_own_frame_may_be_returned() -> None:
    itself = el.inplace(takes=el.Image(memory="cpu", access="rw"))(lambda given: given)
    assert el.Pipeline([frame(0)], itself()).run().of("<lambda>").frames_out == 1
