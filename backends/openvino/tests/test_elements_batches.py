# SPDX-License-Identifier: Apache-2.0
"""openvino.infer with several frames in an inference, and several inferences in line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
from samebytes import metadata
from samebytes.errors import ElementError, ParameterError
from samebytes_openvino import InferRequest, OpenVINOInfer

from .in_pipelines import as_region, doubled, grays, mean_of_image, tensors, value


def results(frames: list[sb.Frame[Any]], name: str = "mean") -> list[float]:
    return [value(frame.metadata["inference"][name]) for frame in frames]


# All on the CPU; on a device, whose models take long to compile, each of both once.
BATCHES = ((1, 3), (4, 1), (4, 2), (9, None))


WAYS = [
    *(("CPU", threads, *batch) for threads in (0, 1, 3) for batch in BATCHES),
    *(("GPU", threads, *batch) for threads, batch in zip((3, 1, 0, 1), BATCHES, strict=True)),
    *(("NPU", threads, *batch) for threads, batch in zip((1, 0, 3, 0), BATCHES, strict=True)),
]


@pytest.mark.parametrize(("device", "threads", "batch", "requests"), WAYS, indirect=["device"])
def test_frames_in_line_keep_their_order(
    device: str, batch: int, requests: int | None, threads: int
) -> None:
    """More frames than a batch, and a remainder; the frames are held by nobody else."""
    sb.reset_stats()
    infer = OpenVINOInfer(mean_of_image(), device, batch=batch, requests=requests)
    with el.Pipeline(grays(count=11), infer).start(threads=threads) as out:
        frames = list(out)
    assert [frame.pts for frame in frames] == list(range(11))
    assert results(frames) == pytest.approx([20 * number for number in range(11)], abs=0.2)
    assert sb.stats().copied_bytes == 0


@pytest.mark.parametrize("threads", [0, 1])
def test_a_batch_takes_frames_of_several_streams(threads: int) -> None:
    infer = OpenVINOInfer(mean_of_image(), batch=4, requests=2, postprocess=as_region)
    pipe = el.Pipeline([grays(count=3), grays(count=8)], infer)
    with pipe.start(threads=threads) as out:
        found: dict[int, list[Any]] = {0: [], 1: []}
        for frame in out:
            said = metadata.find(frame, metadata.SourceIdentifier)
            assert said is not None
            (region,) = frame.regions
            found[said.stream_id].append((frame.pts, region.confidence))
    for stream, count in ((0, 3), (1, 8)):
        assert [pts for pts, _ in found[stream]] == list(range(count))
        assert [mean for _, mean in found[stream]] == pytest.approx(
            [20 * number for number in range(count)], abs=0.2
        )


def test_a_frame_of_another_layout_begins_another_batch() -> None:
    def changing() -> Iterator[sb.Frame[Any]]:
        for number in range(7):
            size = (64, 48) if number < 3 else (32, 32)
            frame = sb.context("cpu").allocate_frame("GRAY8", *size)
            frame.planes[0].native[...] = 20 * number
            frame.meta.pts = number
            yield frame

    frames = list(el.Pipeline(changing(), OpenVINOInfer(mean_of_image(), batch=2)).start(threads=0))
    assert [frame.pts for frame in frames] == list(range(7))
    assert results(frames) == pytest.approx([20 * number for number in range(7)], abs=0.2)


def rows_of(count: int) -> openvino.Model:
    x = ops.parameter([-1, 8], np.float32, name="x")
    made = ops.multiply(x, ops.constant(np.float32(count)))
    made.output(0).get_tensor().set_names({"made"})
    return openvino.Model([ops.result(made)], [x], "rows")


def test_a_batch_of_tensors() -> None:
    def rows() -> Iterator[sb.Frame[Any]]:
        for number in range(5):
            tensor = sb.context("cpu").allocate((1, 8), "float32")
            tensor.native[...] = number
            yield sb.Frame.borrowed((tensor.native,), tensor.context, sb.FrameMeta(None))

    sb.reset_stats()
    frames = list(el.Pipeline(rows(), OpenVINOInfer(rows_of(3), batch=2, requests=2)).start())
    assert results(frames, "made") == [0, 3, 6, 9, 12]
    assert sb.stats().copied_bytes == 0


def test_what_cannot_be_a_batch_is_refused() -> None:
    x = ops.parameter([1, 3, 32, 32], np.float32, name="x")
    whole = openvino.Model([ops.result(ops.reduce_mean(x, ops.constant([0, 1, 2, 3])))], [x], "all")
    for source, model, why in (
        (grays(), whole, "does not have one part for each frame"),
        (tensors(), doubled(), "first dimension must be 1 or dynamic"),
    ):
        pipe = el.Pipeline(source, OpenVINOInfer(model, batch=2))
        # Before the first frame, by the name of the parameter.
        with pytest.raises(ParameterError, match=f"infer': parameter 'batch' is 2: .*{why}"):
            pipe.start()
    compiled = openvino.Core().compile_model(doubled(), "CPU")
    with pytest.raises(ElementError, match="a compiled model has its batch already"):
        el.Pipeline(tensors(), OpenVINOInfer(compiled, batch=2)).explain()

    class Few(el.Source):
        def negotiate(self, wanted: Any) -> el.FrameInfo:
            return el.FrameInfo("image", "cpu", "GRAY8", 64, 48, pool=6)

    with pytest.raises(
        ElementError, match="keeps up to 6 of the frames of its source, which has only 6"
    ):
        el.Pipeline(Few(), OpenVINOInfer(mean_of_image(), batch=3, requests=2)).explain()


@pytest.mark.parametrize("requests", [1, 3])
def test_an_error_of_postprocess_names_its_frame(requests: int) -> None:
    """Not the one that has just come, which is another one where several inferences run."""

    def fails_at_two(frame: Any, _: Any) -> None:
        if frame.pts == 2:
            raise ValueError("no boxes")

    infer = OpenVINOInfer(mean_of_image(), postprocess=fails_at_two, requests=requests)
    pipe = el.Pipeline(grays(), infer)
    with pytest.raises(ElementError, match=r"(?s)stream 0, pts 2.*ValueError: no boxes") as caught:
        pipe.run(threads=0)
    assert (caught.value.stream, caught.value.pts) == (0, 2)


def test_an_inference_in_line_that_fails_loses_its_own_batch() -> None:
    def fails(frame: sb.Frame[Any], _: Any) -> None:
        if frame.pts == 2:
            raise ValueError("no boxes")

    infer = OpenVINOInfer(mean_of_image(), requests=3, postprocess=fails)
    with el.Pipeline(grays(count=9), infer).start(threads=0, on_error="drop") as out:
        assert [frame.pts for frame in out] == [0, 1, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(("batch", "requests", "errors"), [(4, 1, 4), (4, 3, 4), (1, 3, 1)])
def test_each_frame_of_a_batch_that_fails_is_counted(
    batch: int, requests: int, errors: int
) -> None:
    def fails(frame: sb.Frame[Any], _: Any) -> None:
        if frame.pts == 5:
            raise ValueError("no boxes")

    infer = OpenVINOInfer(mean_of_image(), batch=batch, requests=requests, postprocess=fails)
    with el.Pipeline(grays(count=10), infer).start(threads=0, on_error="drop") as out:
        came = len(list(out))
    rows = out.statistics()
    assert (came, rows.of("openvino.infer").errors, rows.lost) == (10 - errors, errors, 0)
    assert rows.of("openvino.infer").frames_in == came


def test_frames_of_a_batch_are_lost_when_it_stops() -> None:
    infer = OpenVINOInfer(mean_of_image(), batch=4, requests=3, postprocess=as_region)
    with el.Pipeline(grays(count=10), infer).start(threads=0) as out:
        next(out)
    rows = out.statistics()
    assert rows[0].frames_out == rows.of("openvino.infer").frames_in > 1
    assert rows.of("openvino.infer").lost == rows.lost == rows[0].frames_out - 1


@pytest.mark.parametrize("failing", range(8))
@pytest.mark.parametrize(("batch", "requests"), [(2, 1), (1, 2)])
def test_a_batch_that_fails_keeps_no_other_from_starting(
    batch: int, requests: int, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InferRequest, "idle", property(lambda _: False))  # none ends early

    def fails(frame: sb.Frame[Any], _: Any) -> None:
        if frame.pts == failing:
            raise ValueError("no boxes")

    infer = OpenVINOInfer(mean_of_image(), batch=batch, requests=requests, postprocess=fails)
    with el.Pipeline(grays(count=8), infer).start(threads=0, on_error="drop") as out:
        came = [frame.pts for frame in out]
    assert came == [n for n in range(8) if n // batch != failing // batch]
