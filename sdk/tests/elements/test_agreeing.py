# SPDX-License-Identifier: Apache-2.0
"""Negotiation: what elements agree on, and what they give then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import NegotiationError, SamebytesError

from .pictures import HEIGHT, WIDTH, Collect, Log, add, frame, frames, numbers

THREADS = pytest.mark.parametrize("threads", [0, 1, 3])


def test_what_an_element_copies_itself_is_explained() -> None:
    class Keeps(Collect):
        def copies(self, given: el.FrameInfo, frame: Any) -> str:
            return "" if frame is None else f"of {given.width} columns into an album"

    pipe = el.Pipeline(numbers(), Keeps())
    assert "COPIES" not in pipe.explain()
    with pipe.start() as out:
        next(out)
        assert "COPIES each frame of 16 columns into an album" in out.explain()


@THREADS
def test_giving_something_else_than_announced(threads: int) -> None:
    def wrong_size() -> Iterator[Any]:
        yield frame(0, width=WIDTH + 2)

    wrong = el.source(gives=el.Image("GRAY8", memory="cpu", width=WIDTH, height=HEIGHT))(wrong_size)
    with pytest.raises(NegotiationError, match=r"announced image GRAY8 16x8.*gives image GRAY8 18"):
        el.Pipeline(wrong()).run(threads=threads)

    class Colored(el.Transform):
        gives = el.Image("BGR", memory="cpu")

        def process(self, picture: Any) -> Any:
            return frame(1)

    with pytest.raises(NegotiationError, match="announced image BGR in cpu, but gives image GRAY8"):
        el.Pipeline(numbers(), Colored()).run(threads=threads)
    with pytest.raises(NegotiationError, match="it gave 'int'"):
        el.Pipeline(numbers(), lambda picture: 3).run(threads=threads)


@THREADS
def test_a_layout_that_changes_in_mid_stream(threads: int) -> None:
    calls: list[str] = []

    def growing() -> Iterator[Any]:
        for number in range(6):
            yield frame(number, width=WIDTH + 2 * (number // 3))

    with el.Pipeline(growing(), Log(calls), add()).start(threads=threads) as out:
        assert [picture.width for picture in out] == [16, 16, 16, 18, 18, 18]
    assert calls.count("negotiate") == 2

    class Fixed(Log):
        takes = el.Image(width=WIDTH)

    with pytest.raises(NegotiationError, match="its width is 18, not 16"):
        el.Pipeline(growing(), Fixed([])).run(threads=threads)


def test_explain() -> None:
    pipe = el.Pipeline(numbers(), [Collect()], lambda picture: picture)
    assert pipe.explain().splitlines() == [
        "numbers gives image GRAY8 16x8 in cpu",
        '    Collect takes it in cpu, access "r"',
        '  <lambda> takes it in cpu, access "r"',
    ]
    later = el.Pipeline(frames(2), add())
    assert "agreed on with the first frame" in later.explain()
    with later.start() as out:
        next(out)
        assert "frames gives image GRAY8 16x8 in cpu" in out.explain()


def of_format(name: str, memory: str = "cpu", width: int = WIDTH) -> el.Source:
    """A source of that format, which never gives a frame."""
    pattern = el.Image(name, memory=memory, width=width, height=HEIGHT)
    made = el.source(gives=pattern)(lambda: iter(()))()
    assert isinstance(made, el.Source)
    return made


class Halves(el.Transform):
    """Says that it gives half the width."""

    takes = gives = el.Image("GRAY8|NV12", memory="cpu")

    def negotiate(self, given: el.FrameInfo) -> el.FrameInfo:
        assert given.width is not None
        return replace(given, width=given.width // 2)


def test_explain_says_the_stream_where_it_matters() -> None:
    wide = of_format("NV12", width=2 * WIDTH)
    pipe = el.Pipeline(
        [of_format("GRAY8"), wide, of_format("GRAY8")], Halves(), [Collect()], Collect()
    )
    assert pipe.explain().splitlines() == [
        "stream 0: <lambda> gives image GRAY8 16x8 in cpu",
        "stream 1: <lambda>#2 gives image NV12 32x8 in cpu",
        "stream 2: <lambda>#3 gives image GRAY8 16x8 in cpu",
        '  streams 0 and 2: Halves takes it in cpu, access "r"',
        "    gives image GRAY8 8x8 in cpu",
        '  stream 1: Halves takes it in cpu, access "r"',
        "    gives image NV12 16x8 in cpu",
        '    Collect takes it in cpu, access "r"',
        '  Collect#2 takes it in cpu, access "r"',
    ]


def test_explain_says_which_stream_is_not_known_yet() -> None:
    class Later(el.Source):
        def negotiate(self, wanted: Any) -> None:
            return None

    pipe = el.Pipeline([Later(), of_format("GRAY8")], Collect())
    assert pipe.explain().splitlines() == [
        "stream 0: Later gives what its first frame is",
        "stream 1: <lambda> gives image GRAY8 16x8 in cpu",
        "  stream 0: Collect takes image in cpu; agreed on with the first frame",
        '  stream 1: Collect takes it in cpu, access "r"',
    ]


@pytest.mark.parametrize("known", [True, False])
def test_no_agreement_names_the_stream_and_its_source(known: bool) -> None:
    @el.source(gives=el.Image("NV12", memory="cpu") if known else el.Media())
    def colours() -> Iterator[Any]:
        yield frame(0, "NV12")

    pipe = el.Pipeline([numbers(), colours()], add())
    with pytest.raises(NegotiationError) as caught:
        pipe.run(threads=0)
    text = str(caught.value)
    assert text.startswith("element 'add' (stream 1): 'colours' gives image NV12")
    assert (caught.value.stream, caught.value.before) == (1, "colours")


def test_elements_cannot_agree() -> None:
    def note(picture: Any) -> None: ...

    with pytest.raises(NegotiationError) as caught:
        el.Pipeline(
            numbers(), [Collect()], el.inplace(takes=el.Image("NV12|I420"))(note)()
        ).explain()
    text = str(caught.value)
    assert "'numbers' gives image GRAY8 16x8 in cpu; it takes image NV12|I420" in text
    assert "its format is GRAY8, not NV12 or I420" in text
    assert caught.value.before == "numbers"


def test_sources_are_said_what_is_wanted() -> None:
    wanted: list[Any] = []

    class Either(el.Source):
        gives = el.Image("NV12|GRAY8", memory="cpu")

        def negotiate(self, offer: el.FrameInfo | None) -> Any:
            wanted.append(offer)
            return offer

        def read(self) -> Any:
            return None

    el.Pipeline(Either(), add()).run()
    assert wanted[0].format == "GRAY8"
    el.Pipeline(Either(), lambda picture: picture).run()
    assert wanted[1].format == "NV12"


class Maps(el.Transform):
    """Maps what it gets itself."""

    to: str
    copy: bool = False

    @property
    def may_copy(self) -> bool:  # type: ignore[override]  # the class has one that is constant
        return self.copy

    def maps_to(self, given: el.FrameInfo) -> str:
        assert (given.memory, given.format) == ("cpu", "GRAY8")
        return self.to

    def open(self, context: Any) -> None:
        self.found = self.pipeline_context("cpu")

    def process(self, picture: Any) -> Any:
        assert picture.context is self.found
        return picture


reads = el.inplace(takes=el.Image(memory="cpu"))(lambda picture: None)
makes = el.transform(takes=el.Image(memory="cpu"), gives=el.Image("GRAY8", memory="cpu"))(
    lambda picture: frame()
)


@pytest.mark.parametrize(
    ("items", "copy", "wanted"),
    [
        ([], False, "r"),
        ([reads(), Collect()], False, "r"),
        ([add()], False, "rw"),
        ([reads(), lambda picture: picture, Collect(), add()], False, "rw"),
        ([makes(), add()], False, "r"),  # other frames
        ([[reads()], Collect()], False, "r"),
        ([[add()], reads()], True, "r"),  # a copy
        ([reads(), [Collect()], reads(), add()], True, "r"),
    ],
)
def test_sources_are_said_whether_their_frames_are_written(
    items: list[Any], copy: bool, wanted: str
) -> None:
    class Asked(el.Source):
        seen: ClassVar[list[str]] = []

        def negotiate(self, wanted: Any) -> None:
            self.seen.append(self.wanted_access)

        def open(self, context: Any) -> None:
            self.seen.append(self.wanted_access)

        def read(self) -> Any:
            return None

    source = Asked()
    assert source.wanted_access == "r"
    el.Pipeline(source, *items, copy=copy).run(threads=0)
    assert source.seen == [wanted] * 2
    assert source.wanted_access == "r"


def test_a_source_sees_which_of_its_formats_are_wanted() -> None:
    class Asked(el.Source):
        gives = el.Image("ABGR64|NV12|GRAY8|BGR", memory="cpu")

        def read(self) -> Any:
            return None

    def seen(*items: Any) -> tuple[str, ...]:
        source, found = Asked(), []
        vars(source)["open"] = lambda context: found.append(source.wanted_formats)
        el.Pipeline(source, *items).run(threads=0)
        assert source.wanted_formats == ()
        return tuple(*found)

    def taking(formats: str) -> Any:
        return el.inplace(takes=el.Image(formats, memory="cpu"))(lambda frame: None)()

    assert seen() == ("ABGR64", "NV12", "GRAY8", "BGR")
    assert seen(taking("BGR|NV12"), taking("BGR|GRAY8|NV12")) == ("NV12", "BGR")
    assert seen([taking("BGR|NV12")], taking("BGR|GRAY8")) == ("BGR",)


def test_an_element_that_maps_frames_itself_is_refused_what_it_cannot_reach() -> None:
    pipe = el.Pipeline(numbers(), Maps("nowhere:4"))
    with pytest.raises(NegotiationError) as caught:
        pipe.explain()
    text = str(caught.value)
    assert (
        "'numbers' gives image GRAY8 16x8 in cpu; it takes any frame, and maps it to nowhere:4 "
        in text
    )
    assert "  - nowhere:4: unknown memory type 'nowhere:4'" in text
    with pytest.raises(NegotiationError, match="nowhere:4"):
        pipe.start()


def test_an_element_that_maps_frames_to_where_they_are() -> None:
    maps = Maps("cpu")
    pipe = el.Pipeline(numbers(), maps)
    assert pipe.explain().splitlines()[1] == '  Maps takes it in cpu, access "r"'
    assert pipe.run().of("Maps").frames_out == 5
    assert maps.found is sb.context("cpu")
    assert maps.pipeline_context("cpu") is sb.context("cpu")  # of no pipeline


def test_a_pattern_that_names_no_parameter_of_the_element() -> None:
    @el.inplace(takes=el.Image(memory="openvino:{device}"))
    def shown(picture: Any, *, devise: str = "CPU") -> None: ...

    pipe = el.Pipeline(numbers(), shown())
    for use in (pipe.explain, pipe.run):
        with pytest.raises(SamebytesError, match=r"'device'.*devise"):
            use()


def test_an_element_that_takes_one_stream() -> None:
    class File(Collect):
        one_stream = True

    calls: list[str] = []
    pipe = el.Pipeline([numbers(), numbers()], Log(calls), File())
    with pytest.raises(
        NegotiationError, match=r"'File'.*takes one stream, and there are 2 sources"
    ):
        pipe.run()
    assert "open" not in calls
