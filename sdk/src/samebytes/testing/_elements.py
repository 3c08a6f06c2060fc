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
from samebytes.elements import (
    Element,
    Image,
    Media,
    Pipeline,
    Source,
    Transform,
    element_class,
    same,
)
from samebytes.errors import ClosedError, NegotiationError, PoolTimeoutError, SamebytesError
from samebytes.metadata import SourceIdentifier, find

from .._numbers import counted
from ..elements._statistics import _KEPT
from . import _element_frames as frames_
from ._element_frames import FORMATS, Frames, Wants, address_in, patterns_of, picture, wrapped
from ._element_parameters import ParameterChecks
from ._first import TriedFirst
from ._footprint import assert_nothing_left, assert_steady
from ._objects import choose_tests
from ._threads import wait_until, within

__all__ = ["ElementSuite"]

_THREADS = (0, 1, 3)
_WITHOUT_END = 100_000
_PATIENCE = 20.0
"""The seconds that a source may take to give the frames that a test holds."""


class ElementSuite(ParameterChecks, TriedFirst):
    """Tests of elements. Inherit it once for each source, transform or sink.

    Class attributes:
        element: its name, as passed to samebytes.elements.create.
        parameters: its parameters, at least those without a default.
        size: width and height of the frames, if the element takes any size.
        count: how many frames a test sends to the element, or reads from a source.
        held: how many frames of a source a test holds at once, if there are that many.
        streams: for a transform, True if it keeps streams apart: the result for one stream does
            not depend on the others.
        many: how many frames the test for leaks sends.
        copies: True if the element needs copy=True; otherwise nothing may be copied.
        ends: for a source, True if its stream ends and is the same when it is started again.
    """

    _broken = "no pipeline with the element runs"

    size: ClassVar[tuple[int, int]] = (64, 48)
    count: ClassVar[int] = 12
    many: ClassVar[int] = 1_000
    held: ClassVar[int] = 40
    streams: ClassVar[bool] = True
    copies: ClassVar[bool] = False
    ends: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "element"):
            return
        choose_tests(cls, ElementSuite, **_applicable(cls.element, cls.ends, cls.streams))

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run tests in the caller's thread, with a thread for the element, and with several."""
        if "threads" in metafunc.fixturenames:
            metafunc.parametrize("threads", _THREADS)

    def frame(self, number: int) -> Any:
        """A new frame for the element, a samebytes.Frame or a native one.

        By default, an image in CPU memory, in the first format that the element takes, whose
        bytes depend on the number. Override it for sound, tensors, memory to which CPU memory
        does not map, and pictures that must show something.

        Args:
            number: the number of the frame; frames with other numbers have other bytes.
        """
        pattern = self._pattern
        assert pattern is not None, f"{self.element} takes no images: override frame(number)"
        formats = pattern.formats if isinstance(pattern, Image) else ()
        return self._picture((formats or FORMATS)[0], pattern, number)

    def seen(self, frame: Frame) -> Any:
        """The parts of a frame that are compared: layout, time, bytes, metadata, regions.

        Args:
            frame: one that came out of the element.
        """
        return frames_.seen(frame)

    def _mistake(self) -> Exception | None:
        """The exception, of any type, that ends the first pipeline with the element, or None."""
        try:
            found = self._out(self._pipeline(self.count), 0)
            assert found, (
                f"{self.element}: nothing came out: return what goes on, or override frame() so "
                "that something does"
            )
        except Exception as error:
            return error
        return None

    def test_threads(self, threads: int) -> None:
        """Rule 9: the same frames come out in the same order, with and without threads."""
        found = self._out(self._pipeline(self.count), threads)
        assert found
        if self.ends:
            assert found == self._out(self._pipeline(self.count), 0)

    def test_started_again(self) -> None:
        """The element can be restarted, and begins again; explain() before changes nothing."""
        pipe = self._pipeline(self.count)
        pipe.explain()
        first = self._out(pipe, 0)
        again = self._out(pipe, 0)
        assert first
        assert len(again) == len(first)
        if self.ends:
            assert again == first

    def test_closing(self) -> None:
        """Rule 2: close() may be called without open(), and twice; then every call is refused."""
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
        """Rule 1: frames are passed on in the same memory, with the same time."""
        given = [self._frame(number) for number in range(self.count)]
        times = {address_in(frame): frame.meta.pts for frame in given}
        with self._pipeline(self.count, made=given.__getitem__).start(threads=threads) as out:
            for frame in out:
                address = address_in(frame)
                assert address in times, "a frame went on in other memory"
                assert frame.meta.pts == times[address]

    def test_what_it_only_reads(self) -> None:
        """Rule 10: frames that the element takes for reading have the same bytes afterwards."""
        given = [self._frame(number) for number in range(self.count)]
        before = [frames_.bytes_of(frame) for frame in given]
        self._out(self._pipeline(self.count, made=given.__getitem__), 0)
        assert [frames_.bytes_of(frame) for frame in given] == before

    def test_formats(self) -> None:
        """Rule 5: each format that the element declares works; others raise NegotiationError."""
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
        """Rule 4: stopping after a frame leaves no thread, descriptor or frame behind."""
        # Makes what is made only once. Both pipelines stay alive: close() must release the rest.
        first = self._stop_early(threads)
        before = {*threading.enumerate()}
        with assert_nothing_left():
            alive, stopped = self._stop_early(threads)
            gc.collect()
            assert wait_until(lambda: not alive), (
                f"{counted(len(alive), 'frame')} held after close()"
            )
        assert not {*threading.enumerate()} - before, "threads are left"
        del first, stopped

    def test_thousands_of_frames(self) -> None:
        """Rule 4: more than a thousand frames leave no memory, descriptor or object behind."""
        if isinstance(self.make(), Source):
            pipe = self._pipeline(None)
            assert_steady(partial(self._out, pipe, 0), max(self.many // self.count, 1))
            return
        pipe = self._pipeline(None)
        with pipe.start(threads=0) as out:
            while pipe.elements["frames"].number < _KEPT:  # until the statistics are full
                next(out)
            assert_steady(partial(next, out), self.many)

    def test_streams_are_kept_apart(self) -> None:
        """Each stream gives the same result, with and without another stream beside it.

        An element that keeps state from frame to frame keeps it for each stream:
        `samebytes.metadata.find(frame, SourceIdentifier).stream_id` is the stream of a frame.
        """
        both = self._streams(self.count, self.count)
        alone = [*self._streams(self.count, 0), *self._streams(0, self.count)]
        for number in (0, 1):
            found = [seen for stream, seen in both if stream == number]
            expected = [seen for stream, seen in alone if stream == number]
            assert found == expected, (
                f"stream {number} becomes something else where there are two streams: keep what "
                "you keep for each stream, or declare streams = False"
            )

    def test_kept_frames_are_counted(self) -> None:
        """Frames that a stopped pipeline has neither given nor dropped count as lost."""
        row = self._pipeline(self.count).run(threads=0)[-1]
        if row.frames_in != row.frames_out:
            return  # it drops some frames, or gives several for one
        with self._pipeline(None).start(threads=0) as out:
            next(out)
        row = out.statistics()[-1]
        assert row.frames_in == row.frames_out + row.lost, (
            f"{row.frames_in} frames went in, {row.frames_out} came out and {row.lost} are counted "
            "as lost: say in frames_kept() how many it keeps back"
        )

    def test_gives_what_was_agreed_on(self) -> None:
        """Rule 5: a source that announces several formats gives the one that is wanted."""
        announced = [one for one in self.make()._gives or () if isinstance(one, Image)]
        for name in dict.fromkeys(name for one in announced for name in one.formats):
            source = self.make()
            wanted = Wants(name)
            try:
                with Pipeline(source, wanted, copy=self.copies).start(threads=0) as out:
                    next(out, None)
            except NegotiationError as error:
                # A source may answer that it gives another format, but must then give that one.
                if error.element != wanted.name:
                    pytest.fail(f"it announces {name}, and {wanted.name!r} wants that: {error}")

    def test_frames_that_are_held(self) -> None:
        """Rule 1: frames that others hold keep their bytes, and do not stop the source.

        A source with a limited number of frames declares it: `FrameInfo.pool` in `negotiate`, or
        `Source.pool_size`.
        """
        held: list[tuple[Frame, str]] = []
        with self._pipeline(None).start(threads=0) as out:

            def hold() -> None:
                for frame in out:
                    held.append((frame, frames_.bytes_of(frame)))
                    # Some sources know their pool only once they have given a frame.
                    if len(held) == min(self.held, out._run.readers[0].pool or self.held):
                        return

            try:
                in_time = within(_PATIENCE, hold, out.stop)
            except (PoolTimeoutError, TimeoutError) as error:
                pytest.fail(f"{_omits(len(held))}: {error}")
            assert in_time, _omits(len(held))
            changed = sum(frames_.bytes_of(frame) != before for frame, before in held)
            assert not changed, (
                f"the bytes of {changed} of {len(held)} frames changed while they were held: use "
                "memory again when nobody holds it (FramePool)"
            )

    def test_ends(self) -> None:
        """The stream of a source ends."""
        with self._pipeline(None).start(threads=0) as out:
            for _ in islice(out, _WITHOUT_END):
                pass
            assert out.stopped, f"more than {_WITHOUT_END} frames came: declare ends = False"

    @property
    def _pattern(self) -> Any:
        """The first pattern of images that the element takes, or None."""
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
        """A pipeline of the element, after a source of `count` frames unless it is a source."""
        element = element or self.make()
        if isinstance(element, Source):
            return Pipeline(element, copy=self.copies)
        return Pipeline(Frames(made or self._frame, count), element, copy=self.copies)

    def _streams(self, *counts: int) -> list[tuple[int, Any]]:
        """The compared parts of the frames of several streams, each with its stream."""
        sources = [
            Frames(partial(self._numbered, stream * self.count), count)
            for stream, count in enumerate(counts)
        ]
        with Pipeline(sources, self.make(), copy=self.copies).start(threads=0) as out:
            return [(_stream_of(frame), self.seen(frame)) for frame in out]

    def _numbered(self, first: int, number: int) -> Frame:
        return self._frame(first + number)

    def _refusal(self, pipe: Pipeline) -> NegotiationError | None:
        try:
            self._out(pipe, 0)
        except NegotiationError as error:
            return error
        return None

    def _out(self, pipe: Pipeline, threads: int) -> list[Any]:
        """The compared parts of the frames that come out; for a source, only of the first ones."""
        with pipe.start(threads=threads) as out:
            first = islice(out, self.count) if len(pipe.elements) == 1 else out
            return [self.seen(frame) for frame in first]

    def _stop_early(self, threads: int) -> tuple[weakref.WeakSet[Frame], Pipeline]:
        """Start a pipeline and stop it after one frame.

        Returns:
            The frames that are still alive of those that went in and came out, and the pipeline.
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


def _stream_of(frame: Frame) -> int:
    said = find(frame, SourceIdentifier)
    assert said is not None, "a frame does not say its stream: its metadata were replaced"
    return said.stream_id


def _omits(held: int) -> str:
    return (
        f"with {counted(held, 'frame')} held it gave no more. Say in negotiate() how many frames "
        "it can have out at a time: replace(wanted, pool=...)"
    )


def _applicable(name: str, ends: bool, streams: bool) -> dict[str, bool]:
    """The tests that depend on the element, by name: True if they apply to it."""
    try:
        cls = element_class(name)
    except SamebytesError:  # it is not installed, or broken: one test reports that
        tests = (test for test in dir(ElementSuite) if test.startswith("test_"))
        return {test: test == "test_created_by_name" for test in tests}
    source = issubclass(cls, Source)
    taken = patterns_of(cls.takes)
    return {
        "test_frames_go_on_in_place": not source and isinstance(cls.gives, type(same())),
        "test_what_it_only_reads": not source
        and (taken is None or all(pattern.access == "r" for pattern in taken)),
        "test_formats": not source,
        "test_streams_are_kept_apart": streams and issubclass(cls, Transform),
        "test_kept_frames_are_counted": issubclass(cls, Transform),
        "test_gives_what_was_agreed_on": source,
        "test_frames_that_are_held": source,
        "test_ends": source and ends,
    }
