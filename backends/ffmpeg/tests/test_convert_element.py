# SPDX-License-Identifier: Apache-2.0
"""The element convert in pipelines: sizes, streams, what explain() and the statistics say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes import Region
from samebytes.errors import ElementError, NegotiationError, ParameterError, PoolTimeoutError


def native(number: int, width: int = 64, height: int = 48) -> Any:
    made = av.VideoFrame(width, height, "yuv420p")
    made.pts, made.time_base = number, Fraction(1, 25)
    for plane in sb.frame(made).map("cpu", "w"):
        plane.native[...] = 100 + number
    return made


def pictures(count: int, **size: int) -> el.Element:
    @el.source(gives=el.Image("I420", memory="ffmpeg"))
    def decoded() -> Iterator[Any]:
        for number in range(count):
            frame = sb.frame(native(number, **size))
            frame.regions.append(Region(8, 8, 16, 16, "cat"))
            yield frame

    made: el.Element = decoded()
    return made


@pytest.mark.parametrize("threads", [0, 1, 2])
class TestRunning:
    def test_it_gives_what_convert_gives(self, threads: int) -> None:
        sb.reset_stats()
        pipe = el.Pipeline(pictures(9), el.create("convert", "RGB24", 32, 24))
        with pipe.start(threads=threads) as out:
            found = [(f.pts, f[0].native.copy(), f.regions[0].box, f.context.node) for f in out]
            text, rows = out.explain(), out.statistics()
        assert [pts for pts, *_ in found] == list(range(9))
        for number, (_, pixels, box, node) in enumerate(found):
            expected = sb.frame(native(number)).convert("RGB24", 32, 24)[0].native
            assert np.array_equal(pixels, expected)
            assert (box, node) == ((4, 4, 8, 8), "cpu")
        assert (
            "CONVERTS each frame to RGB 32x24, by ffmpeg (libswscale), into memory of a pool"
            in text
        )
        assert "gives image RGB 32x24 in cpu" in text
        row = rows.of("convert")
        assert (row.copied_bytes, row.converted_bytes) == (0, 9 * 32 * 24 * 3)
        assert f"convert: {9 * 32 * 24 * 3} bytes converted" in str(rows)
        assert sb.stats().copies == 0
        assert sb.stats().conversions == 2 * 9

    def test_frames_that_are_so_already_go_on_as_they_came(self, threads: int) -> None:
        sb.reset_stats()
        pipe = el.Pipeline(pictures(3), el.create("convert", "yuv420p"))
        with pipe.start(threads=threads) as out:
            assert [frame.context.node for frame in out] == ["ffmpeg"] * 3
            assert "CONVERTS" not in out.explain()
            assert out.statistics().of("convert").converted_bytes == 0
        assert (sb.stats().conversions, sb.stats().copies) == (0, 0)

    @pytest.mark.parametrize("wanted", ["limited", "full"])
    @pytest.mark.parametrize("range_", [None, "limited", "full"])
    @pytest.mark.parametrize("node", ["ffmpeg", "cpu"])
    @pytest.mark.parametrize("branch", [False, True])
    def test_ranges_that_only_frames_say(
        self, threads: int, node: str, range_: str | None, branch: bool, wanted: str
    ) -> None:
        """Such frames go on as they came, and others are new ones, whatever comes behind it."""

        @el.source(gives=el.Image("I420", memory=node, width=64, height=48))
        def given() -> Iterator[Any]:
            for number in range(3):
                frame = sb.frame(native(number))
                if range_:
                    frame.metadata["color_range"] = range_
                yield frame if node == "ffmpeg" else el.own_copy(frame).map("cpu", "rw")

        convert = el.create("convert", "I420", color_range=wanted)
        seen: list[tuple[str, int]] = []

        @el.inplace(takes=el.Image("I420", memory="cpu", access="r" if branch else "rw"))
        def look(frame: sb.Frame[Any]) -> None:
            said = frame.metadata.get("color_range", "limited")
            seen.append((said, int(frame[0].native[0, 0])))

        steps: list[Any] = [[convert, look()]] if branch else [convert, look()]
        with el.Pipeline(given(), *steps).start(threads=threads) as out:
            nodes = [frame.context.node for frame in out]
        same = wanted == (range_ or "limited")
        assert nodes == [node if same or branch else "cpu"] * 3
        assert seen[0] == (wanted, 100 if same else {"full": 98, "limited": 102}[wanted])

    def test_gray_of_a_range_that_is_not_converted(self, threads: int) -> None:
        """Frames that say that range already go on; others are refused."""

        def given(said: dict[str, str]) -> sb.Frame[Any]:
            return sb.frame(np.zeros((8, 16), np.uint8), format="GRAY8", metadata=said)

        convert = el.create("convert", "GRAY8", color_range="limited")
        frame = given({"color_range": "limited"})
        with el.Pipeline([frame], convert).start(threads=threads) as out:
            (found,) = out
        assert found.map("cpu")[0].native.ctypes.data == frame.map("cpu")[0].native.ctypes.data
        assert sb.stats().conversions == 0
        with pytest.raises(ElementError, match="convert to I420 of limited range first"):
            el.Pipeline([given({})], convert).run(threads=threads)

    def test_in_branches_too(self, threads: int) -> None:
        for format_ in ("I420", "RGB24"):
            seen: list[str] = []

            @el.sink(takes=el.Image())
            def collect(frame: sb.Frame[Any], *, into: list[str]) -> None:
                into.append(frame.format.name)

            branch = [el.create("convert", format_), collect(into=seen)]
            el.Pipeline(pictures(4), branch, collect(into=[])).run(threads=threads)
            assert seen == [sb.formats.ImageFormat.of(format_).name] * 4


class TestPlanning:
    def test_what_is_known_before_the_first_frame(self) -> None:
        @el.source(gives=el.Image("NV12", memory="cpu", width=64, height=48))
        def announced() -> Iterator[Any]:
            yield sb.context("cpu").allocate_frame("NV12", 64, 48)

        pipe = el.Pipeline(announced(), el.create("convert", "RGB24", width=32))
        text = str(pipe.explain())
        assert "CONVERTS each frame to RGB 32x48, by ffmpeg (libswscale)" in text
        assert "gives image RGB 32x48 in cpu" in text

    def test_what_cannot_be_is_refused_before_the_first_frame(self) -> None:
        @el.source(gives=el.Image("NV12", memory="cpu", width=64, height=48))
        def announced() -> Iterator[Any]:
            raise AssertionError("it is not asked")
            yield

        with pytest.raises(NegotiationError, match="libswscale does not write GRAYF16"):
            el.Pipeline(announced(), el.create("convert", "GRAYF16", by="ffmpeg")).run()
        with pytest.raises(NegotiationError, match="unknown image format 'RGBB'"):
            el.Pipeline(announced(), el.create("convert", "RGBB")).run()

    def test_colours_come_with_the_frame(self) -> None:
        @el.source(gives=el.Image("I420", memory="cpu", width=64, height=48))
        def coded() -> Iterator[Any]:
            yield sb.context("cpu").allocate_frame(
                "I420", 64, 48, metadata={"color_matrix": "ycgco"}
            )

        with pytest.raises(ElementError, match="does not compute the matrix 'ycgco'"):
            el.Pipeline(coded(), el.create("convert", "RGB24", by="ffmpeg")).run()

    def test_parameters(self) -> None:
        with pytest.raises(ParameterError, match="'format' is missing"):
            el.create("convert")
        with pytest.raises(ParameterError, match="'width'"):
            el.create("convert", "RGB24", 0)
        with pytest.raises(ParameterError, match="'method'"):
            el.create("convert", "RGB24", method="lanczos")

    def test_sizes_may_change(self) -> None:
        @el.source(gives=el.Image())
        def changing() -> Iterator[Any]:
            for number, width in enumerate((64, 64, 128, 64)):
                yield sb.frame(native(number, width=width))

        with el.Pipeline(changing(), el.create("convert", "RGB24", height=24)).start() as out:
            assert [(f.width, f.height) for f in out] == [(64, 24), (64, 24), (128, 24), (64, 24)]


def test_the_pool_is_bounded() -> None:
    convert = el.create("convert", "RGB24", pool=2)
    with el.Pipeline(pictures(4), convert).start(threads=0, pool_timeout=0.2) as out:
        kept = [next(out), next(out)]
        with pytest.raises(PoolTimeoutError, match="convert"):
            next(out)
    assert len(kept) == 2


def test_threads_convert_without_a_pipeline() -> None:
    convert: Any = el.create("convert", "RGB24", 32, 24)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(convert.process, map(sb.frame, map(native, range(20)))))
    assert {(one.image.format.name, one.image.width, one.image.height) for one in made} == {
        ("RGB", 32, 24)
    }
    assert len({int(one.planes[0].native.ctypes.data) for one in made}) == 20
    convert.close()


@pytest.mark.parametrize("given", ["yuv420p", "yuv444p12le", "rgb24", "gray"])
@pytest.mark.parametrize("codec", ["prores_ks", "dnxhd", "cfhd", "v210", "dxv", "png"])
def test_a_conversion_that_an_encoder_takes_is_named(
    codec: str, given: str, tmp_path: Path
) -> None:
    made = tmp_path / "made.mov"
    size = (1280, 720) if codec == "dnxhd" else (64, 48)
    options = {"profile": "dnxhr_sq"} if codec == "dnxhd" else {}

    def run(*before: el.Element) -> None:
        sink = el.create("ffmpeg.sink", made, codec, options=options)
        el.Pipeline([av.VideoFrame(*size, given)], *before, sink).run(threads=0)

    if given in [one.name for one in av.codec.Codec(codec, "w").video_formats or ()]:
        run()
        return
    with pytest.raises(NegotiationError) as caught:
        run()
    advised = re.search(r'create\("convert", "(\w+)"\)', str(caught.value))
    assert advised is not None
    assert not advised[1].startswith("GRAY")
    run(el.create("convert", advised[1]))
    assert made.stat().st_size
