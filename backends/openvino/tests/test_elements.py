# SPDX-License-Identifier: Apache-2.0
"""openvino.infer in pipelines."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
from samebytes import metadata
from samebytes.errors import ClosedError, ElementError, NegotiationError, ParameterError
from samebytes.testing import missing_device
from samebytes_openvino import InferRequest, OpenVINOInfer


@pytest.fixture(params=["CPU", "GPU", "NPU"])
def device(request: pytest.FixtureRequest) -> str:
    """A device of OpenVINO's that is there."""
    name: str = request.param
    found = openvino.Core().available_devices
    if not any(one.partition(".")[0] == name for one in found):
        pytest.skip(missing_device(name))
    return name


def mean_of_image(size: int = 32) -> openvino.Model:
    image = ops.parameter([1, 3, size, size], np.float32, name="image")
    mean = ops.reduce_mean(image, ops.constant([1, 2, 3]))
    mean.output(0).get_tensor().set_names({"mean"})
    return openvino.Model([ops.result(mean)], [image], "mean")


def doubled() -> openvino.Model:
    x = ops.parameter([4, 8], np.float32, name="x")
    made = ops.multiply(x, ops.constant(np.float32(2)))
    made.output(0).get_tensor().set_names({"made"})
    return openvino.Model([ops.result(made)], [x], "doubled")


@el.source(gives=el.Image("GRAY8", memory="cpu", width=64, height=48))
def grays(*, count: int = 6) -> Iterator[sb.Frame[Any]]:
    for number in range(count):
        frame = sb.context("cpu").allocate_frame("GRAY8", 64, 48)
        frame.planes[0].native[...] = 20 * number
        frame.meta.pts = number
        yield frame


@el.source(gives=el.Tensors(memory="cpu"))
def tensors(*, count: int = 3) -> Iterator[sb.Frame[Any]]:
    for number in range(count):
        tensor = sb.context("cpu").allocate((4, 8), "float32")
        tensor.native[...] = number
        native = (tensor.native,)
        yield sb.Frame.borrowed(native, tensor.context, sb.FrameMeta(None), keep=tensor)


class Watched(np.ndarray[Any, Any]):
    """An array that weak references see."""


def halved(source: Any, target: Any) -> None:
    target[...] = source[::2, ::2].reshape(target.shape)


def value(tensor: sb.Tensor) -> float:
    return float(np.asarray(tensor.map("cpu").native).reshape(-1)[0])


def as_region(frame: sb.Frame[Any], outputs: Any) -> list[sb.Region]:
    assert outputs.names == ("mean",)
    assert repr(outputs).startswith("<OutputFrame mean float32[1")
    return [sb.Region(0, 0, 8, 8, str(frame.meta.pts), value(outputs["mean"]))]


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_results_belong_to_their_frames(device: str, threads: int) -> None:
    sb.reset_stats()
    infer = el.create("openvino.infer", mean_of_image(), device)
    with el.Pipeline(grays(), infer).start(threads=threads) as out:
        frames = list(out)
    # All of them are alive, and each has its own.
    assert [value(f.metadata["inference"]["mean"]) for f in frames] == pytest.approx(
        [20 * number for number in range(6)], abs=0.2
    )
    assert [frame.meta.pts for frame in frames] == list(range(6))
    assert frames[0].metadata["inference"]["mean"].host_array().size == 1
    assert sb.stats().copied_bytes == 0


@pytest.mark.parametrize("threads", [0, 3])
def test_postprocess_reads_the_outputs_where_they_lie(device: str, threads: int) -> None:
    sb.reset_stats()
    infer = OpenVINOInfer(mean_of_image(), device, postprocess=as_region)
    with el.Pipeline(grays(), infer).start(threads=threads) as out:
        regions = [frame.regions for frame in out]
    assert [one.label for (one,) in regions] == [str(number) for number in range(6)]
    found = [one.confidence for (one,) in regions]
    assert found == pytest.approx([20 * number for number in range(6)], abs=0.2)
    assert sb.stats().copied_bytes == 0


def check_dropped(
    infer: OpenVINOInfer, make: Callable[[int], sb.Frame[Any]], held: list[weakref.ref[Any]]
) -> None:
    """Without a pipeline, which holds a frame until it is asked for another one."""
    infer.open(None)
    came = 0
    for number in range(4):
        given = infer.process(make(number))
        given = [given] if isinstance(given, sb.Frame) else list(given)
        if number == 3:
            given += infer.end_of_stream(0) or ()
        while given:
            frame = given.pop(0)
            one = held[frame.meta.pts]
            assert one() is not None
            del frame
            assert one() is None
            came += 1
    assert came == 4
    infer.close()


@pytest.mark.parametrize(
    "parameters",
    [{}, {"postprocess": as_region}, {"requests": 2}, {"batch": 2}, {"resize": halved}],
    ids=["one", "postprocess", "requests", "batch", "resize"],
)
def test_frames_are_dropped_when_their_results_are_out(
    device: str, parameters: dict[str, Any]
) -> None:
    held: list[weakref.ref[Any]] = []

    def guarded(number: int) -> sb.Frame[Any]:
        memory = sb.context("cpu").allocate((64, 64)).native.view(Watched)
        held.append(weakref.ref(memory))
        frame = sb.frame(memory, format="GRAY8")
        frame.meta.pts = number
        return frame

    check_dropped(OpenVINOInfer(mean_of_image(), device, **parameters), guarded, held)


@pytest.mark.parametrize("parameters", [{}, {"requests": 2}, {"batch": 2}])
def test_tensors_are_dropped_when_their_results_are_out(
    device: str, parameters: dict[str, Any]
) -> None:
    held: list[weakref.ref[Any]] = []
    rows = 1 if "batch" in parameters else 4

    def guarded(number: int) -> sb.Frame[Any]:
        memory = sb.context("cpu").allocate((rows, 8), "float32").native.view(Watched)
        held.append(weakref.ref(memory))
        meta = sb.FrameMeta(None, number)
        return sb.Frame.borrowed((memory,), sb.context("cpu"), meta, keep=memory)

    if device == "GPU":
        pytest.skip("the GPU plugin has an input until the next inference, and pages are kept")
    model = doubled()
    model.reshape([rows, 8])
    check_dropped(OpenVINOInfer(model, device, **parameters), guarded, held)


def test_preparing_the_image_is_part_of_the_model() -> None:
    infer = OpenVINOInfer(mean_of_image(), mean=10.0, scale=(2.0, 2.0, 2.0), key="scaled")
    (frame,) = el.Pipeline(grays(count=1), infer).start(threads=0)
    assert value(frame.metadata["scaled"]["mean"]) == pytest.approx(-5)


def test_explaining_where_images_go() -> None:
    infer = OpenVINOInfer(mean_of_image())
    assert infer.explain() == ""
    with el.Pipeline(grays(), infer).start(threads=0) as out:
        frame = next(out)
        assert "CPU" in infer.explain(frame)
        said = infer.explain()
        assert "GRAY8 64x48 frames, for CPU" in said
    assert infer.explain() == said  # afterwards as well
    with pytest.raises(ClosedError, match=r"the pipeline has ended.*explain\(\) without a frame"):
        infer.explain(frame)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda outputs: None, r"takes \(outputs\): too many positional"),
        (lambda frame, outputs, least: None, r"takes .*: missing a required argument: 'least'"),
        (lambda *, frame, outputs: None, "takes"),
    ],
)
def test_postprocess_must_take_a_frame_and_outputs(function: Any, why: str) -> None:
    said = r"'postprocess' must be a function postprocess\(frame, outputs\), and .*<lambda> "
    with pytest.raises(ParameterError, match=said + why):
        OpenVINOInfer(mean_of_image(), postprocess=function)


def test_postprocess_may_take_more_that_has_defaults() -> None:
    async def later(frame: Any, outputs: Any) -> None: ...

    for function in (lambda *_: None, lambda frame, outputs, least=0.5: None, max, print):
        OpenVINOInfer(mean_of_image(), postprocess=function)
    with pytest.raises(ParameterError, match="later is an async function"):
        OpenVINOInfer(mean_of_image(), postprocess=later)


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        (sb.Region(0, 0, 8, 8), "not Region"),
        ([(0, 0, 8, 8)], "not list with tuple in it"),
        (np.zeros((1, 4)), "not ndarray with ndarray in it"),
        (7, "not int"),
        ({"boxes": 1}, "not dict with str in it"),
    ],
)
@pytest.mark.parametrize("requests", [None, 2])
def test_postprocess_must_return_regions(returned: Any, found: str, requests: int | None) -> None:
    infer = OpenVINOInfer(mean_of_image(), postprocess=lambda *_: returned, requests=requests)
    said = r"<lambda> must return a list of samebytes\.Region\(x, y, width, height\), or None, "
    with pytest.raises(ElementError, match=said + found):
        el.Pipeline(grays(), infer).run()


def test_postprocess_may_give_regions_one_by_one() -> None:
    def found(*_: Any) -> Iterator[sb.Region]:
        yield sb.Region(0, 0, 8, 8)
        yield sb.Region(8, 8, 8, 8)

    (frame,) = el.Pipeline(
        grays(count=1), OpenVINOInfer(mean_of_image(), postprocess=found)
    ).start()
    assert len(frame.regions) == 2


def test_tensors_are_bound_in_order() -> None:
    sb.reset_stats()
    for model in (doubled(), openvino.Core().compile_model(doubled(), "CPU")):
        frames = list(el.Pipeline(tensors(), OpenVINOInfer(model)).start())
        assert [value(f.metadata["inference"]["made"]) for f in frames] == [0, 2, 4]
    assert sb.stats().copied_bytes == 0


def test_a_model_of_a_file(tmp_path: Path) -> None:
    openvino.save_model(mean_of_image(), tmp_path / "mean.xml")
    infer = OpenVINOInfer(str(tmp_path / "mean.xml"))
    assert el.Pipeline(grays(), infer).run().of("openvino.infer").frames_out == 6
    with pytest.raises(ElementError, match=r"none\.xml"):
        el.Pipeline(grays(), OpenVINOInfer(tmp_path / "none.xml")).run()


def test_a_second_run_reads_the_model_again() -> None:
    pipe = el.Pipeline(grays(), OpenVINOInfer(mean_of_image(), postprocess=as_region))
    assert pipe.run().of("openvino.infer").frames_out == 6
    assert pipe.run(threads=0).of("openvino.infer").frames_out == 6


def test_what_does_not_fit_is_refused_before_the_first_frame() -> None:
    compiled = openvino.Core().compile_model(mean_of_image(), "CPU")
    with pytest.raises(ElementError, match="compiled model takes tensors, not images"):
        el.Pipeline(grays(), OpenVINOInfer(compiled)).explain()
    source = el.source(gives=el.Image("RGB565", memory="cpu", width=8, height=8))(lambda: iter(()))
    with pytest.raises(ElementError, match="RGB565"):
        el.Pipeline(source(), OpenVINOInfer(mean_of_image())).explain()
    with pytest.raises(ParameterError, match="model"):
        OpenVINOInfer(7)
    with pytest.raises(ParameterError, match="'BGR' or 'RGB'"):
        OpenVINOInfer(mean_of_image(), color="GBR")


def test_outputs_without_a_fixed_shape_need_postprocess() -> None:
    x = ops.parameter([4, 8], np.float32, name="x")
    model = openvino.Model([ops.result(ops.non_zero(x))], [x], "places")
    with pytest.raises(ElementError, match="no fixed shape and type: give postprocess="):
        el.Pipeline(tensors(), OpenVINOInfer(model)).run()
    seen: list[tuple[int, ...]] = []
    infer = OpenVINOInfer(model, postprocess=lambda _, outputs: seen.append(outputs[0].shape))
    el.Pipeline(tensors(count=2), infer).run()
    assert seen == [(2, 0), (2, 32)]


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
        (grays(), whole, "has not one part for each frame"),
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


def test_pictures_that_no_model_reads_are_refused_with_what_to_put_before_it() -> None:
    av = pytest.importorskip("av")
    pytest.importorskip("samebytes_ffmpeg")
    frames = [sb.frame(av.VideoFrame(32, 24, "bayer_rggb8"))]
    infer = OpenVINOInfer(mean_of_image())
    with pytest.raises(ElementError, match=r"(?s)BAYER_RGGB8.*el\.create\('convert', 'RGB'\)"):
        el.Pipeline(frames, infer).run()
    convert = el.create("convert", "RGB")
    assert el.Pipeline(frames, convert, OpenVINOInfer(mean_of_image())).run()[-1].frames_out == 1


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


@pytest.mark.parametrize("requests", [None, 2])
def test_results_are_typed_metadata_if_that_is_asked_for(device: str, requests: int | None) -> None:
    """The CPU reads them on every device, as `postprocess` does."""
    infer = OpenVINOInfer(
        mean_of_image(), device, requests=requests, entries=True, postprocess=as_region
    )
    with el.Pipeline(grays(count=5), infer).start() as out:
        frames = list(out)
    for number, frame in enumerate(frames):
        (found,) = metadata.all_of(frame, metadata.InferenceResult)
        assert (found.model_name, found.layer_name) == ("mean", "mean")
        assert float(found.array[0]) == pytest.approx(20 * number, abs=0.2)
        assert frame.regions[0].confidence == pytest.approx(20 * number, abs=0.2)
        said = json.loads(metadata.to_json(frame, add_tensor_data=True))
        assert said["tensors"][0]["data"] == pytest.approx([20 * number], abs=0.2)
    assert len({found.array.ctypes.data for f in frames for found in
                metadata.all_of(f, metadata.InferenceResult)}) == 5  # fmt: skip


@el.source(gives=el.Image("GRAY8", memory="cpu", width=50, height=48))
def padded(*, count: int = 2) -> Iterator[sb.Frame[Any]]:
    for _ in range(count):
        whole = sb.context("cpu").allocate((48, 64), "uint8")
        whole.native[...] = 40
        yield sb.frame(whole.native[:, :50], format="GRAY8")


def plan_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()[1:]]


def test_the_plan_shows_the_memory_of_the_device(device: str) -> None:
    pipe = el.Pipeline(grays(), OpenVINOInfer(mean_of_image(), device, postprocess=as_region))
    planned = plan_of(pipe.explain())
    with pipe.start(threads=0) as out:
        assert plan_of(out.explain()) == planned
        next(out)
        confirmed = plan_of(out.explain())
    if device == "CPU":
        assert planned == confirmed == ['openvino.infer takes it in cpu, access "r"']
        return
    head = f'openvino.infer takes it in cpu, access "r", and maps it to openvino:{device} itself'
    assert planned[0] == confirmed[0] == head
    assert planned[-1] == "not confirmed: the first frame can have a layout that is refused"
    assert confirmed[1].startswith(f'cpu -> openvino:{device} (frames, access "r"): no copy')
    assert not any("not confirmed" in line for line in confirmed)


def test_the_plan_says_that_padded_rows_take_no_route(device: str) -> None:
    sb.reset_stats()
    pipe = el.Pipeline(padded(), OpenVINOInfer(mean_of_image(), device, postprocess=as_region))
    with pipe.start(threads=0) as out:
        frames = list(out)
        said = "the element maps the planes one by one: no route takes frames of this layout whole"
        assert (said in out.explain()) == (device != "CPU")
    assert [frame.regions[0].confidence for frame in frames] == pytest.approx([40, 40], abs=0.2)
    assert sb.stats().copied_bytes == 0


@pytest.mark.parametrize("name", ["GPU.7", "NPU.7"])
@pytest.mark.parametrize("resize", [None, lambda source, target: None])
def test_a_device_that_is_missing_is_refused_before_the_first_frame(name: str, resize: Any) -> None:
    pipe = el.Pipeline(grays(), OpenVINOInfer(mean_of_image(), name, resize=resize))
    for call in (pipe.explain, pipe.start):
        with pytest.raises(NegotiationError) as caught:
            call()
        text = str(caught.value)
        assert "'grays' gives image GRAY8 64x48 in cpu; it takes image or tensors" in text
        assert name.partition(".")[0] in text.partition("  - ")[2]


def test_a_device_of_no_such_name() -> None:
    with pytest.raises(ElementError, match="'gpu'"):
        el.Pipeline(grays(), OpenVINOInfer(mean_of_image(), "gpu")).explain()
    assert el.Pipeline(grays(), OpenVINOInfer(mean_of_image(), "AUTO:CPU")).explain()


@pytest.mark.parametrize("infer_first", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_a_chain_settles_on_one_cl_context(
    device: str, infer_first: bool, known: bool, request: pytest.FixtureRequest
) -> None:
    """In both orders, whether the source's frames are known beforehand or not."""
    if device != "GPU":
        pytest.skip(f"{device} has no OpenCL context to settle on: GPU runs this")
    request.getfixturevalue("opencl_plugin")
    seen: set[int] = set()

    def note(frame: sb.Frame[Any]) -> None:
        seen.add(frame.context.handle("cl_context"))

    looks = el.inplace(takes=el.Image(memory="opencl", access="rw"))(note)()
    infer = OpenVINOInfer(mean_of_image(), "GPU", postprocess=as_region)
    source = grays() if known else list(el.Pipeline(grays(), lambda frame: frame).start(threads=0))
    elements = (infer, looks) if infer_first else (looks, infer)
    with el.Pipeline(source, *elements).start(threads=0) as out:
        for _ in out:
            assert infer._images is not None
            context = infer._images.compiled.context
            assert context is not None
            seen.add(context.handle("cl_context"))
    assert len(seen) == 1
