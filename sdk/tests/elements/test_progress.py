# SPDX-License-Identifier: Apache-2.0
"""The progress of a pipeline, and the time left."""

from typing import Any

import pytest

import samebytes.elements as el
from samebytes.elements import Progress
from samebytes.errors import ElementError

from .pictures import frame, numbers


def test_a_list_knows_how_many() -> None:
    with el.Pipeline([frame(number) for number in range(4)]).start(threads=0) as out:
        assert out.progress() == Progress(0, 4, None)
        next(out)
        assert out.progress() == Progress(1, 4, None)
        assert len(list(out)) == 3
        assert out.progress() == Progress(4, 4, 0.0)


def test_a_generator_does_not() -> None:
    with el.Pipeline(numbers(count=2)).start(threads=0) as out:
        next(out)
        assert out.progress() == Progress(1, None, None)


def test_of_several_sources_all_must_know() -> None:
    class Two(el.Source):
        expected: int | None

        def frames_expected(self) -> int | None:
            return self.expected

        def read(self) -> Any:
            return None

    for last, total in ((3, 5), (None, None)):
        with el.Pipeline([Two(2), Two(last)]).start(threads=0) as out:
            assert out.progress().frames_expected == total


def test_a_source_that_raises_is_named() -> None:
    class Broken(el.Source):
        def frames_expected(self) -> int | None:
            raise OSError("broken header")

    with pytest.raises(ElementError, match=r"Broken.*frames_expected\(\) raised OSError"):
        el.Pipeline(Broken()).start()
