# SPDX-License-Identifier: Apache-2.0
"""ElementSuite: the rules for elements of pipelines."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import pytest

import samebytes
from samebytes import Frame
from samebytes.elements import Element, Image, Media, Pipeline, Source, element_class, same
from samebytes.errors import ClosedError, NegotiationError, SamebytesError

from ..elements._statistics import _KEPT
from . import _element_frames as frames_
from ._element_frames import FORMATS, Frames, address_in, patterns_of, picture, wrapped
from ._element_parameters import ParameterChecks
from ._footprint import assert_nothing_left, assert_steady
from ._objects import choose_tests
from ._threads import wait_until

__all__ = ["ElementSuite"]

_THREADS = (0, 1, 3)
_WITHOUT_END = 100_000


class ElementSuite(ParameterChecks):
    """Inherit it once for each element: a source, a transform or a sink.

    Class attributes:
        element: its name, as of samebytes.elements.create.
        parameters: for it, those without a default at least.
        size: width and height of the frames, where the element takes any.
        count: how many frames a test sends; of a source, how many it looks at.
        many: of how many frames the test for leaks sees that they leave nothing.
        copies: it needs copy=True; without, nothing may be copied.
        ends: of a source: its stream ends, and is the same when it is started again.
    """

    size: ClassVar[tuple[int, int]] = (64, 48)
    count: ClassVar[int] = 12
    many: ClassVar[int] = 2_000
    copies: ClassVar[bool] = False
    ends: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "element"):
            return
        choose_tests(cls, ElementSuite, **_applicable(cls.element, cls.ends))

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run tests in the caller's thread, with a thread for the element, and with several."""
        if "threads" in metafunc.fixturenames:
            metafunc.parametrize("threads", _THREADS)

    def frame(self, number: int) -> Any:
        """A new frame for the element, a samebytes.Frame or a native one.

        As it is, an image in memory of the CPU, of the first format that the element takes, whose
        bytes depend on the number. Override it for sound, tensors, memory that the CPU's does not
        map to, and pictures in which there must be something.
        """
        pattern = self._pattern
        assert pattern is not None, f"{self.element} takes no images: override frame(number)"
        formats = pattern.formats if isinstance(pattern, Image) else ()
        return self._picture((formats or FORMATS)[0], pattern, number)

    def seen(self, frame: Frame) -> Any:
        """What is compared of a frame that comes out: layout, time, bytes, metadata, regions."""
        return frames_.seen(frame)

    def test_threads(self, threads: int) -> None:
        """Rule 9: the same frames come out in the same order, with and without threads."""
        found = self._out(self._pipeline(self.count), threads)
        assert found, "nothing came out: override frame(), so that something does"
        if self.ends:
            assert found == self._out(self._pipeline(self.count), 0)

    def test_started_again(self) -> None:
        """The element can be started again, and begins again; explain() before changes nothing."""
        pipe = self._pipeline(self.count)
        pipe.explain()
        first = self._out(pipe, 0)
        again = self._out(pipe, 0)
        assert first
        assert len(again) == len(first)
        if self.ends:
            assert again == first

    def test_closing(self) -> None:
        """Rule 2: close() may come without open(), and twice; after it, every call is refused."""
        element = self.make()
        element.close()
        element.close()
        self._out(self._pipeline(self.count, element), 0)
        element.close()
        frame = () if isinstance(element, Source) else (self._frame(0),)
        with pytest.raises(ClosedError):
            getattr(element, element._samebytes_work)(*frame)

    def test_nothing_is_copied(self, threads: int) -> None:
        """Rule 1: no byte is copied, unless the suite declares that it needs copy=True."""
        before = samebytes.stats().copied_bytes
        with self._pipeline(self.count).start(threads=threads) as out:
            assert next(out, None) is not None
        assert (samebytes.stats().copied_bytes > before) is self.copies

    def test_frames_go_on_in_place(self, threads: int) -> None:
        """Rule 1: what goes on is the very memory that came, at the same time."""
        given = [self._frame(number) for number in range(self.count)]
        times = {address_in(frame): frame.meta.pts for frame in given}
        with self._pipeline(self.count, made=given.__getitem__).start(threads=threads) as out:
            for frame in out:
                address = address_in(frame)
                assert address in times, "a frame went on in other memory"
                assert frame.meta.pts == times[address]

    def test_what_it_only_reads(self) -> None:
        """Rule 10: what it takes for reading has the same bytes afterwards."""
        given = [self._frame(number) for number in range(self.count)]
        before = [frames_.bytes_of(frame) for frame in given]
        self._out(self._pipeline(self.count, made=given.__getitem__), 0)
        assert [frames_.bytes_of(frame) for frame in given] == before

    def test_formats(self) -> None:
        """Rule 5: each format that it says it takes works; others raise NegotiationError."""
        taken = [p for p in self.make()._takes if isinstance(p, Image) or type(p) is Media]
        named = [p for p in taken if isinstance(p, Image) and p.formats]
        known = {name: pattern for pattern in reversed(named) for name in pattern.formats}
        for name in (*known, *(name for name in FORMATS if name not in known)):
            pattern = known.get(name, self._pattern)
            pipe = self._pipeline(2, made=partial(self._picture, name, pattern))
            refusal = self._refusal(pipe)
            if refusal is None:
                says = name in known or len(named) < len(taken)
                assert says, f"it takes {name}, and does not say so"
            elif name in known and {*pattern.memories} <= {"cpu"}:
                # In other memory, a route from the CPU may refuse what the element would take.
                pytest.fail(f"it says that it takes {name}: {refusal}")

    def test_stopped_in_the_middle(self, threads: int) -> None:
        """Rule 4: stopping after a frame leaves no thread, no descriptor and no frame."""
        # What is made once. Both pipelines live on: it is close() that gives back.
        first = self._stop_early(threads)
        before = {*threading.enumerate()}
        with assert_nothing_left():
            alive, stopped = self._stop_early(threads)
            gc.collect()
            assert wait_until(lambda: not alive), f"{len(alive)} frames are held after close()"
        assert not {*threading.enumerate()} - before, "threads are left"
        del first, stopped

    def test_thousands_of_frames(self) -> None:
        """Rule 4: thousands of frames leave no memory, no descriptor and no object behind."""
        if isinstance(self.make(), Source):
            pipe = self._pipeline(None)
            assert_steady(partial(self._out, pipe, 0), max(self.many // self.count, 1))
            return
        pipe = self._pipeline(None)
        with pipe.start(threads=0) as out:
            while pipe.elements["frames"].number < _KEPT:  # the statistics fill
                next(out)
            assert_steady(partial(next, out), self.many)

    def test_ends(self) -> None:
        """The stream of a source ends."""
        with self._pipeline(None).start(threads=0) as out:
            for _ in islice(out, _WITHOUT_END):
                pass
            assert out.stopped, f"more than {_WITHOUT_END} frames came: declare ends = False"

    @property
    def _pattern(self) -> Any:
        """The first pattern of images that the element takes; None where there is none."""
        if "_found" not in vars(self):
            taken = self.make()._takes
            images = (p for p in taken if isinstance(p, Image) or type(p) is Media)
            vars(self)["_found"] = next(images, None)
        return vars(self)["_found"]

    def _picture(self, format_: str, pattern: Media | None, number: int) -> Frame:
        """A picture of a size that the pattern allows."""
        width, height = self.size
        if isinstance(pattern, Image):
            width, height = pattern.width or width, pattern.height or height
        return picture(format_, width, height, number)

    def _frame(self, number: int) -> Frame:
        return wrapped(self.frame(number))

    def _pipeline(
        self,
        count: int | None,
        element: Element | None = None,
        made: Callable[[int], Frame] | None = None,
    ) -> Pipeline:
        """The element, after a source of so many frames unless it is one itself."""
        element = element or self.make()
        if isinstance(element, Source):
            return Pipeline(element, copy=self.copies)
        return Pipeline(Frames(made or self._frame, count), element, copy=self.copies)

    def _refusal(self, pipe: Pipeline) -> NegotiationError | None:
        try:
            self._out(pipe, 0)
        except NegotiationError as error:
            return error
        return None

    def _out(self, pipe: Pipeline, threads: int) -> list[Any]:
        """What is seen of the frames that come out; of a source, of the first ones."""
        with pipe.start(threads=threads) as out:
            first = islice(out, self.count) if len(pipe.elements) == 1 else out
            return [self.seen(frame) for frame in first]

    def _stop_early(self, threads: int) -> tuple[weakref.WeakSet[Frame], Pipeline]:
        """Stop after a frame.

        Returns:
            The frames that went in, or came of a source, while they live; and the pipeline.
        """
        alive = weakref.WeakSet[Frame]()

        def made(number: int) -> Frame:
            frame = self._frame(number)
            alive.add(frame)
            return frame

        pipe = self._pipeline(None, made=made)
        with pipe.start(threads=threads) as out:
            alive.add(next(out))
        return alive, pipe


def _applicable(name: str, ends: bool) -> dict[str, bool]:
    """Which tests apply to the element of that name."""
    try:
        cls = element_class(name)
    except SamebytesError:  # it is not installed, or broken: one test says so
        tests = (test for test in dir(ElementSuite) if test.startswith("test_"))
        return {test: test == "test_created_by_name" for test in tests}
    source = issubclass(cls, Source)
    taken = patterns_of(cls.takes)
    return {
        "test_frames_go_on_in_place": not source and isinstance(cls.gives, type(same())),
        "test_what_it_only_reads": not source
        and (taken is None or all(pattern.access == "r" for pattern in taken)),
        "test_formats": not source,
        "test_ends": source and ends,
    }
