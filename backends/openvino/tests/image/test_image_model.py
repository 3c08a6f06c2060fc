# SPDX-License-Identifier: Apache-2.0
"""image_model: what it takes, what it refuses, what it holds and for how long."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes
import samebytes_openvino
from samebytes import Frame, ImageInfo
from samebytes.errors import (
    BusyError,
    ClosedError,
    CopyRequiredError,
    LayoutError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_openvino import image_model

from .pictures import Array, echo, expected, nearest, noise

TOLERANCE = 1.1


def image_of(outputs: Any) -> Array:
    image: Array = np.asarray(outputs.planes[0])[0]
    return image


def test_planes_are_read_where_they_lie() -> None:
    frame = noise("I420", 86, 50, padding=10)
    model = image_model(echo(), frame)
    request = model.create_infer_request()
    before = image_of(request.infer(frame)).copy()
    bound = [b for b in request.bindings() if b.kind == "input"]
    for binding, plane in zip(bound, frame.planes, strict=True):
        assert binding.placement == "in place"
        assert binding.tensor is not None
        assert binding.tensor.handle("data") == plane.handle("data")
    frame.planes[0].native[...] = 235
    after = image_of(request.infer())
    np.testing.assert_allclose(after, expected(frame, (40, 30)), atol=TOLERANCE)
    assert np.abs(after - before).max() > 50


def test_a_model_from_a_file(tmp_path: Path) -> None:
    frame = noise("NV12", 64, 48)
    path = tmp_path / "echo.xml"
    openvino.save_model(echo(), path, compress_to_fp16=False)
    for named in (path, str(path)):
        model = image_model(named, frame, config={"INFERENCE_NUM_THREADS": 1})
        np.testing.assert_allclose(
            image_of(model.infer(frame)), expected(frame, (40, 30)), atol=TOLERANCE
        )


def test_the_model_is_not_changed() -> None:
    own = echo(-1, -1)
    image_model(own, noise("NV12", 64, 48), size=(40, 30))
    assert str(own.inputs[0].partial_shape) == "[1,3,?,?]"
    assert len(own.inputs) == 1


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_dynamic_shapes(layout: str) -> None:
    frame = noise("I420", 64, 48)
    own = echo(-1, -1, layout)
    same = image_model(own, frame)
    assert same.input_size == (64, 48)
    smaller = image_model(own, frame, size=(40, 30))
    assert smaller.input_size == (40, 30)
    for model in (same, smaller):
        image = image_of(model.infer(frame))
        if layout == "NHWC":
            image = image.transpose(2, 0, 1)
        np.testing.assert_allclose(image, expected(frame, model.input_size), atol=TOLERANCE)


def test_a_size_and_one_frame_take_precedence_over_a_fixed_shape() -> None:
    frame = noise("I420", 64, 48)
    image = ops.parameter([2, 3, 24, 32], np.float32, name="image")
    own = openvino.Model([ops.result(ops.relu(image))], [image])
    (made,) = image_model(own, frame, size=(40, 30)).infer(frame)
    assert made.shape == (1, 3, 30, 40)
    (made,) = image_model(own, frame).infer(frame)
    assert made.shape == (1, 3, 24, 32)


def test_where_the_channels_are() -> None:
    frame = noise("RGB", 64, 48)
    unknown = ops.parameter(openvino.PartialShape([-1, -1, -1, -1]), np.float32, name="image")
    own = openvino.Model([ops.result(ops.relu(unknown))], [unknown], "any")
    with pytest.raises(LayoutError, match='pass layout="NCHW" or layout="NHWC"'):
        image_model(own, frame)
    stated = image_model(own, frame, layout="NHWC", color="RGB", size=(64, 48))
    np.testing.assert_array_equal(image_of(stated.infer(frame)), frame.planes[0].native)
    openvino.layout_helpers.set_layout(own.inputs[0], openvino.Layout("NHWC"))
    known = image_model(own, frame, color="RGB", size=(64, 48))
    np.testing.assert_array_equal(image_of(known.infer(frame)), frame.planes[0].native)


def test_models_that_do_not_fit() -> None:
    frame = noise("NV12", 64, 48)
    x = ops.parameter([1, 3, 30, 40], np.float32, name="x")
    y = ops.parameter([1, 3, 30, 40], np.float32, name="y")
    two = openvino.Model([ops.result(ops.add(x, y))], [x, y])
    gray = ops.parameter([1, 1, 30, 40], np.float32, name="gray")
    one_channel = openvino.Model([ops.result(ops.relu(gray))], [gray])
    flat = ops.parameter([3, 30, 40], np.float32, name="flat")
    three = openvino.Model([ops.result(ops.relu(flat))], [flat])
    whole = echo(dtype=np.int32)
    for own, arguments, message in (
        (two, {}, "2 inputs"),
        (one_channel, {}, "only images of 3 channels"),
        (one_channel, {"layout": "NCHW"}, "1 channels"),
        (three, {}, "four dimensions"),
        (whole, {}, "only u8, f16 and f32"),
        (echo(), {"size": (10, 0)}, "size must be"),
        (echo(), {"size": 160}, r"size must be \(width, height\), two ints.*, not 160"),
        (echo(), {"size": (160, 90.5)}, "size must be"),
        (echo(), {"layout": "NHWC"}, "only images of 3 channels"),
        (echo(), {"mean": (1, 2)}, "mean must be one number"),
        (echo(), {"scale": 0}, "divided by a scale of 0"),
        (echo(dtype=np.uint8), {"scale": 255}, "mean and scale need"),
    ):
        with pytest.raises(LayoutError, match=message):
            image_model(own, frame, **arguments)


def test_names_that_do_not_exist() -> None:
    frame = noise("NV12", 64, 48)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"color": "GBR"}, "colour order"),
        ({"color_range": "wide"}, "colour range"),
        ({"color_matrix": "BT.602"}, "colour matrix"),
        ({"layout": "CHWN"}, "layout"),
    ]
    for arguments, message in wrong:
        with pytest.raises(UnknownNameError, match=message):
            image_model(echo(), frame, **arguments)
    with pytest.raises(UnknownNameError, match=r"GRAYF32.*convert the frames first"):
        image_model(echo(), ImageInfo.of("GRAYF32", 64, 48))
    with pytest.raises(UnsupportedObjectError, match=r"samebytes\.frame"):
        image_model(echo(), np.zeros((48, 64, 3), np.uint8))  # type: ignore[arg-type]
    with pytest.raises(UnsupportedObjectError, match=r"samebytes\.frame"):
        image_model(echo(), frame).infer(np.zeros((48, 64, 3), np.uint8))  # type: ignore[arg-type]
    with pytest.raises(UnsupportedObjectError, match="compiled model"):
        image_model(openvino.Core().compile_model(echo(), "CPU"), frame)
    audio = samebytes.AudioInfo(samples=8, channels=2, rate=48000, dtype="float32")
    sound = samebytes.frame(np.zeros((8, 2), np.float32), audio=audio)
    with pytest.raises(LayoutError, match="frame of audio"):
        image_model(echo(), sound)


def test_an_example_without_a_frame() -> None:
    model = image_model(echo(), ImageInfo.of("I420", 86, 50))
    assert len(model.compiled.inputs) == 3
    frame = noise("I420", 86, 50, padding=10)  # the pitch is learnt here
    samebytes.reset_stats()
    np.testing.assert_allclose(
        image_of(model.infer(frame)), expected(frame, (40, 30)), atol=TOLERANCE
    )
    assert samebytes.stats().copied_bytes == 0


def test_layouts_that_change_in_mid_stream() -> None:
    frames = [
        noise("I420", 64, 48),
        noise("I420", 64, 48, padding=4),
        noise("NV12", 64, 48),
        noise("I420", 100, 80),
        noise("RGB", 31, 17, padding=1),
    ]
    model = image_model(echo(), frames[0])
    compiled: list[Any] = []
    for _ in range(2):
        for frame in frames:
            image = image_of(model.infer(frame))
            np.testing.assert_allclose(image, expected(frame, (40, 30)), atol=TOLERANCE)
            compiled.append(model.compiled)
    half = len(frames)
    assert all(a is b for a, b in zip(compiled[:half], compiled[half:], strict=True))
    assert len({id(c) for c in compiled}) == half


def test_few_compiled_models_are_kept() -> None:
    model = image_model(echo(8, 8), ImageInfo.of("RGB", 16, 16))
    first = weakref.ref(model.compiled)
    for width in range(17, 30):
        model.infer(noise("RGB", width, 16))
    gc.collect()
    assert first() is None


@pytest.mark.parametrize("options", [{}, {"resize": nearest}])
def test_each_thread_has_its_own_outputs(options: dict[str, Any]) -> None:
    model = image_model(echo(8, 8), ImageInfo.of("BGR", 16, 16), **options)
    pictures = [samebytes.frame(np.full((16, 16, 3), n, np.uint8), format="BGR") for n in range(4)]
    for picture in pictures:
        model.infer(picture, copy=True)
    barrier = threading.Barrier(len(pictures))

    def seen(number: int) -> list[float]:
        barrier.wait(60)
        found = []
        for _ in range(50):
            outputs = model.infer(pictures[number], copy=True)
            found += np.unique(np.asarray(outputs.planes[0])).tolist()
        return found

    with ThreadPoolExecutor(len(pictures)) as threads:
        for number, found in enumerate(threads.map(seen, range(len(pictures)))):
            assert set(found) == {number}
        model.close()
        with pytest.raises(ClosedError):
            threads.submit(model.infer, pictures[0]).result()
    with pytest.raises(ClosedError):
        model.infer(pictures[0])


def test_regions_of_a_larger_picture() -> None:
    whole = np.random.default_rng(2).integers(0, 256, (60, 100, 3), np.uint8)
    request = image_model(echo(), ImageInfo.of("BGR", 50, 30)).create_infer_request()
    samebytes.reset_stats()
    for top, left in ((0, 0), (10, 20), (30, 50)):  # the last one ends where the memory does
        frame = samebytes.frame(whole[top : top + 30, left : left + 50], format="BGR")
        image = image_of(request.infer(frame))
        np.testing.assert_allclose(image, expected(frame, (40, 30)), atol=TOLERANCE)
        bound = request.bindings()[0]
        assert bound.placement == "in place"
    assert samebytes.stats().copies == 0


def test_images_stored_bottom_up_need_a_copy() -> None:
    upright = noise("NV12", 64, 48)
    planes = [plane.native[::-1].copy()[::-1] for plane in upright.planes]
    frame = samebytes.frame(planes, format="NV12", width=64, height=48)
    model = image_model(echo(), frame)
    request = model.create_infer_request()
    with pytest.raises(CopyRequiredError, match=r"bottom up[\s\S]*resize="):
        request.infer(frame)
    with pytest.raises(BusyError, match="no frame has been set"):
        request.infer()  # what was half bound does not run
    assert "refused without copy=True" in model.explain(frame)
    samebytes.reset_stats()
    image = image_of(model.infer(frame, copy=True))
    np.testing.assert_allclose(image, expected(upright, (40, 30)), atol=TOLERANCE)
    assert samebytes.stats().copied_bytes == frame.image.nbytes


def test_an_example_that_needs_a_copy_is_compiled_for_the_colours_that_it_says() -> None:
    planes = [plane.native[::-1].copy()[::-1] for plane in noise("NV12", 64, 48).planes]
    frame = samebytes.frame(planes, format="NV12", width=64, height=48)
    frame.metadata.update(color_range="full", color_matrix="bt709")
    assert "BT.709 in full range" in image_model(echo(), frame).explain()


def guarded(width: int = 64, height: int = 48) -> tuple[Frame, weakref.ref[Any]]:
    """A frame, and whether its memory is still held."""

    class Memory(np.ndarray[Any, Any]):
        pass

    memory = np.full((height, width, 3), 9, np.uint8).view(Memory)
    return samebytes.frame(memory, format="RGB"), weakref.ref(memory)


def test_a_request_holds_a_frame_until_the_next_one() -> None:
    model = image_model(echo(), ImageInfo.of("RGB", 64, 48))
    request = model.create_infer_request()
    frame, held = guarded()
    request.infer(frame)
    del frame
    assert held() is not None
    other, held_too = guarded()
    request.infer(other)
    del other
    assert held() is None
    assert held_too() is not None
    outputs = request.outputs()
    request.release_frame()
    assert held_too() is None
    assert image_of(outputs).max() == 9
    for again in (request.infer, request.start_async):
        with pytest.raises(BusyError, match=r"released: call set_frame\(\)"):
            again()
    request.infer(noise("RGB", 64, 48))
    request.infer()
    third, held_last = guarded()
    request.set_frame(third)
    del third
    request.close()
    assert held_last() is None


def test_a_model_holds_no_frame_after_the_call() -> None:
    model = image_model(echo(), ImageInfo.of("RGB", 64, 48))
    for _ in range(2):
        frame, held = guarded()
        outputs = model.infer(frame)
        del frame
        assert held() is None
        assert image_of(outputs).max() == 9
    model.close()
    with pytest.raises(ClosedError, match=r"this ImageModel was closed.*create_infer_request"):
        model.infer(noise("RGB", 64, 48))
    image_of(model.create_infer_request().infer(noise("RGB", 64, 48)))  # others are not affected


def test_a_frame_is_held_while_it_is_read() -> None:
    model = image_model(echo(600, 600), ImageInfo.of("RGB", 64, 48))
    request = model.create_infer_request()
    frame, held = guarded()
    request.start_async(frame)
    del frame, model
    gc.collect()
    assert held() is not None
    assert request.wait()
    assert (image_of(request.outputs()) == 9).all()
    with request:
        pass
    gc.collect()
    assert held() is None


def test_a_frame_of_another_layout_drops_the_one_before() -> None:
    model = image_model(echo(), ImageInfo.of("RGB", 64, 48))
    frame, held = guarded()
    outputs = model.infer(frame)
    del frame
    model.infer(noise("RGB", 32, 48))
    assert (image_of(outputs) == 9).all()  # of its own request
    del outputs
    gc.collect()
    assert held() is None


def test_the_example_is_not_held() -> None:
    frame, held = guarded()
    model = image_model(echo(), frame)
    assert model.explain(frame)
    del frame
    gc.collect()
    assert held() is None


def test_several_inferences_at_a_time() -> None:
    frames = [noise("I420", 64, 48, seed=n) for n in range(4)]
    model = image_model(echo(), frames[0])
    requests = [model.create_infer_request() for _ in frames]
    for request, frame in zip(requests, frames, strict=True):
        request.start_async(frame)
    for request, frame in zip(requests, frames, strict=True):
        assert request.wait(60)
        image = image_of(request.outputs())
        np.testing.assert_allclose(image, expected(frame, (40, 30)), atol=TOLERANCE)


def test_threads_with_layouts_of_their_own() -> None:
    model = image_model(echo(), ImageInfo.of("I420", 64, 48))
    wrong: list[Any] = []

    def run(number: int) -> None:
        frame = noise("I420", 60 + 2 * (number % 3), 48, seed=number)
        want = expected(frame, (40, 30))
        request = model.create_infer_request()
        for _ in range(5):
            difference = np.abs(image_of(request.infer(frame)) - want).max()
            if difference > TOLERANCE:
                wrong.append((number, difference))

    threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong


def test_setting_a_frame_while_it_runs() -> None:
    frame = noise("RGB", 64, 48)
    request = image_model(echo(1500, 1500), frame).create_infer_request()
    request.set_frame(frame)
    go_on = threading.Event()
    # It runs until its callback has returned.
    request.request.set_callback(lambda _: go_on.wait(60))
    request.start_async()
    try:
        assert not request.wait(0)
        with pytest.raises(BusyError, match="running"):
            request.set_frame(frame)
    finally:
        go_on.set()
    assert request.wait(60)
    request.set_frame(frame)


def test_a_request_without_a_frame() -> None:
    request = image_model(echo(), ImageInfo.of("RGB", 64, 48)).create_infer_request()
    with pytest.raises(BusyError, match="no frame has been set"):
        request.infer()
    request.close()
    with pytest.raises(ClosedError, match="this image request was closed"):
        request.set_frame(noise("RGB", 64, 48))
    with pytest.raises(ClosedError), request:
        pass


def test_explain() -> None:
    frame = noise("I420", 86, 50, padding=10)
    model = image_model(echo(), frame, mean=127.5, scale=(1, 2, 3))
    said = model.explain(frame)
    for part in (
        "I420 86x50 frames, for CPU",
        "y 50 rows of 96 bytes (10 of them padding, left out inside the model)",
        "BT.601 in limited range to BGR",
        "bilinear to 40x30",
        "minus 127.5, divided by [1.0, 2.0, 3.0]",
        "copied: nothing (cpu; image/y in place, image/u in place, image/v in place)",
    ):
        assert part in said
    assert said.startswith(model.explain())
    assert repr(model) == "<ImageModel BGR 40x30 on CPU>"


def test_whole_rows_are_asked_for_by_the_names_of_inputs() -> None:
    image = ops.parameter([1, 4, 6, 3], np.uint8, name="image")
    model = openvino.Model([ops.result(ops.relu(image))], [image])
    image.output(0).get_tensor().set_names({"image", "image:0"})
    with pytest.raises(UnsupportedObjectError, match=r"such as \{'image': 128\}, not 8"):
        samebytes_openvino.take_whole_rows(model, 8)  # type: ignore[arg-type]  # the point
    with pytest.raises(UnknownNameError, match="did you mean 'image'"):
        samebytes_openvino.take_whole_rows(model, {"imag": 8})
    for name, columns in (("image", 8), ("image:0", 16)):
        samebytes_openvino.take_whole_rows(model, {name: columns})
        assert list(model.input("image").shape) == [1, 4, columns, 3]


def test_public_names() -> None:
    for name in ("ImageModel", "ImageRequest", "image_model", "take_whole_rows"):
        assert name in samebytes_openvino.__all__
        assert getattr(samebytes_openvino, name).__name__ == name


def test_on_the_cpu_nothing_is_imported_that_devices_and_reports_need() -> None:
    code = """
import sys
import numpy, openvino, samebytes
from openvino import opset13 as ops
import samebytes_openvino
image = ops.parameter([1, 3, 30, 40], numpy.float32)
model = openvino.Model([ops.relu(image)], [image])
frame = samebytes.frame(numpy.zeros((30, 40, 3), "u1"), format="BGR")
samebytes_openvino.image_model(model, frame).infer(frame)[0].host_array()
unneeded = ("_image._explain", "_probe", "_remote._conversions", "_remote._placement_rules",
            "_remote._shared_queue", "_request._queue", "_request._report")
assert "samebytes_openvino._request._request" in sys.modules
print([name for name in unneeded if f"samebytes_openvino.{name}" in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
