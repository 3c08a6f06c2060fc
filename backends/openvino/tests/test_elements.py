# SPDX-License-Identifier: Apache-2.0
"""openvino.infer in pipelines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError, ParameterError
from samebytes_openvino import OpenVINOInfer


@pytest.fixture(params=["CPU", "GPU", "NPU"])
def device(request: pytest.FixtureRequest) -> str:
    """A device of OpenVINO's that is there."""
    name: str = request.param
    found = openvino.Core().available_devices
    if not any(one.partition(".")[0] == name for one in found):
        pytest.skip(
            f"missing device {name}: pytest --softdevices={name.lower()} "
            "(pip install samebytes-softdevices)"
        )
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


def value(tensor: sb.Tensor) -> float:
    return float(np.asarray(tensor.map("cpu").native).reshape(-1)[0])


def as_region(frame: sb.Frame[Any], outputs: Any) -> list[sb.Region]:
    return [sb.Region(0, 0, 8, 8, str(frame.meta.pts), value(outputs["mean"]))]


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_results_belong_to_their_frames(
    device: str, threads: int, request: pytest.FixtureRequest
) -> None:
    if device == "GPU":
        request.getfixturevalue("opencl_plugin")  # by which the results come to the CPU
    sb.reset_stats()
    infer = el.create("openvino.infer", mean_of_image(), device)
    with el.Pipeline(grays(), infer).start(threads=threads) as out:
        frames = list(out)
    # All of them are alive, and each has its own.
    assert [value(f.metadata["inference"]["mean"]) for f in frames] == pytest.approx(
        [20 * number for number in range(6)], abs=0.2
    )
    assert [frame.meta.pts for frame in frames] == list(range(6))
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


def test_preparing_the_image_is_part_of_the_model() -> None:
    infer = OpenVINOInfer(mean_of_image(), mean=10.0, scale=(2.0, 2.0, 2.0), key="scaled")
    (frame,) = el.Pipeline(grays(count=1), infer).start(threads=0)
    assert value(frame.metadata["scaled"]["mean"]) == pytest.approx(-5)
    assert infer.explain() == ""  # it was closed


def test_explaining_where_images_go() -> None:
    infer = OpenVINOInfer(mean_of_image())
    with el.Pipeline(grays(), infer).start(threads=0) as out:
        assert "CPU" in infer.explain(next(out))


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
