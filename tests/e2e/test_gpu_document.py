# SPDX-License-Identifier: Apache-2.0
"""The three examples of OpenVINO's page "Remote Tensor API of GPU Plugin", as one program each.

Their results are those of the CPU plugin on the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops
from openvino.preprocess import ColorFormat, PrePostProcessor

Array = np.ndarray[Any, Any]
Infer = Callable[[Any, Any], Array]


@pytest.fixture(autouse=True)
def _gpu(device: Callable[..., None]) -> None:
    pytest.importorskip("pyopencl", reason="missing package pyopencl: pip install pyopencl")
    device("GPU")


@pytest.fixture
def values() -> Array:
    return np.random.default_rng(0).normal(size=(4, 32)).astype(np.float32)


@pytest.fixture
def model() -> Any:
    """From "x", float32 [4, 32], to "y", float32 [4, 8]: a layer with its activation."""
    random = np.random.default_rng(1)
    x = ops.parameter([4, 32], np.float32, name="x")
    weights = ops.constant(random.normal(size=(32, 8)).astype(np.float32))
    y = ops.relu(ops.matmul(x, weights, False, False))
    made = openvino.Model([ops.result(y)], [x], "layer")
    made.inputs[0].tensor.set_names({"x"})
    made.outputs[0].tensor.set_names({"y"})
    return made


@pytest.fixture
def infer_on_cpu() -> Infer:
    core = openvino.Core()

    def infer(model: Any, inputs: Any) -> Array:
        # On some CPUs the plugin would compute in bfloat16.
        exact = {"INFERENCE_PRECISION_HINT": "f32"}
        result: Array = core.compile_model(model, "CPU", exact)(inputs)[0]
        return result

    return infer


@pytest.fixture
def run_on(run_program: Callable[..., str], tmp_path: Path) -> Callable[..., Array]:
    """Runs a program on a model and its input; gives the array that it saved."""

    def run(program: str, model: Any, **inputs: Array) -> Array:
        openvino.save_model(model, tmp_path / "model.xml", compress_to_fp16=False)
        if len(inputs) == 1:
            source = tmp_path / "input.npy"
            np.save(source, next(iter(inputs.values())))
        else:
            source = tmp_path / "input.npz"
            np.savez(source, **inputs)  # type: ignore[arg-type]  # the stub's allow_pickle
        run_program(program, tmp_path / "model.xml", source, tmp_path / "output.npy")
        result: Array = np.load(tmp_path / "output.npy")
        return result

    return run


def test_kernel_on_a_shared_buffer(
    run_on: Callable[..., Array], infer_on_cpu: Infer, model: Any, values: Array
) -> None:
    found = run_on("kernel_on_shared_buffer.py", model, x=values)
    np.testing.assert_allclose(found, infer_on_cpu(model, values / 2), rtol=1e-5, atol=1e-5)


def test_inference_in_a_user_supplied_context(
    run_on: Callable[..., Array], infer_on_cpu: Infer, model: Any, values: Array
) -> None:
    found = run_on("user_supplied_context.py", model, x=values)
    np.testing.assert_allclose(found, infer_on_cpu(model, values / 2) / 2, rtol=1e-5, atol=1e-5)


def test_direct_consuming_of_an_nv12_surface(
    device: Callable[..., None], run_on: Callable[..., Array], infer_on_cpu: Infer
) -> None:
    device("GPU", software=True)
    random = np.random.default_rng(2)
    y = random.integers(16, 236, (48, 64), np.uint8)
    uv = random.integers(16, 241, (24, 32, 2), np.uint8)
    image = ops.parameter([1, 3, 48, 64], np.float32, name="image")
    # One factor for each channel, so that their order is seen in the result.
    factors = np.array([1, 2, 4], np.float32).reshape(1, 3, 1, 1)
    scaled = ops.multiply(image, ops.constant(factors))
    model = openvino.Model([ops.result(scaled)], [image], "picture")
    found = run_on("video_surface.py", model, y=y, uv=uv)

    built = _taking_nv12(model)
    for result, luma, chroma in ((found[0], y, uv), (found[1], 255 - y, 255 - uv)):
        wanted = infer_on_cpu(built, [luma[None, :, :, None], chroma[None]])
        # Conversion from YUV is rounded, by one step at most, before it is scaled.
        np.testing.assert_allclose(result / factors, wanted / factors, atol=1.01)


def _taking_nv12(model: Any) -> Any:
    """The same preprocessing, made by OpenVINO's own API for the CPU."""
    processor = PrePostProcessor(model.clone())
    tensor = processor.input().tensor().set_element_type(openvino.Type.u8)
    tensor.set_color_format(ColorFormat.NV12_TWO_PLANES, ["y", "uv"])
    processor.input().preprocess().convert_color(ColorFormat.BGR)
    processor.input().model().set_layout(openvino.Layout("NCHW"))
    return processor.build()
