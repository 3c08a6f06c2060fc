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
from samebytes_openvino import OpenVINOInfer

from .in_pipelines import as_region, doubled, grays, mean_of_image, tensors, value


class Watched(np.ndarray[Any, Any]):
    """An array that weak references see."""


def halved(source: Any, target: Any) -> None:
    target[...] = source[::2, ::2].reshape(target.shape)


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


def test_pictures_that_no_model_reads_are_refused_with_what_to_put_before_it() -> None:
    av = pytest.importorskip("av")
    pytest.importorskip("samebytes_ffmpeg")
    frames = [sb.frame(av.VideoFrame(32, 24, "bayer_rggb8"))]
    infer = OpenVINOInfer(mean_of_image())
    with pytest.raises(ElementError, match=r"(?s)BAYER_RGGB8.*el\.create\('convert', 'RGB'\)"):
        el.Pipeline(frames, infer).run()
    convert = el.create("convert", "RGB")
    assert el.Pipeline(frames, convert, OpenVINOInfer(mean_of_image())).run()[-1].frames_out == 1


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
