# SPDX-License-Identifier: Apache-2.0
"""Pipelines of VA-API surfaces and models of a GPU: they settle on one VAContext, whatever else
is in the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import SamebytesError
from samebytes_openvino import OpenVINOInfer
from samebytes_openvino.intel_gpu import VAContext

from .conftest import NO_VAAPI

pytestmark = pytest.mark.usefixtures("core")


def mean_of_image() -> openvino.Model:
    image = ops.parameter([1, 3, 32, 32], np.float32, name="image")
    mean = ops.reduce_mean(image, ops.constant([1, 2, 3]))
    mean.output(0).get_tensor().set_names({"mean"})
    return openvino.Model([ops.result(mean)], [image], "mean")


def as_region(_: Any, outputs: Any) -> list[sb.Region]:
    mean = float(np.asarray(outputs["mean"].map("cpu").native).reshape(-1)[0])
    return [sb.Region(0, 0, 8, 8, "mean", mean)]


def surfaces(node: str = "vaapi") -> Iterator[Any]:
    """Three gray pictures."""
    context: Any = sb.context(node)
    for number in range(3):
        frame = context.allocate_frame("NV12", 64, 64)
        with frame.map("cpu", "w") as view:
            view.planes[0].native[...] = 80 + 20 * number
            view.planes[1].native[...] = 128
        frame.meta.pts = number
        yield frame


@el.source(gives=el.Image("NV12", memory="vaapi"))
def announced() -> Iterator[Any]:
    yield from surfaces()


@el.source()
def not_announced() -> Iterator[Any]:
    yield from surfaces()


@pytest.fixture(autouse=True)
def va() -> None:
    """VA-API, on its own and under FFmpeg."""
    for package in ("samebytes-vaapi", "samebytes-ffmpeg"):
        pytest.importorskip(
            package.replace("-", "_"), reason=f"missing package {package}: pip install {package}"
        )
    try:
        sb.context("ffmpeg:VAAPI")
    except SamebytesError:
        pytest.skip(NO_VAAPI)
    sb.reset_stats()


def reads(memory: str) -> Callable[[], el.Element]:
    return el.inplace(takes=el.Image("NV12", memory=memory))(lambda frame: None)


ON_CPU, ON_GPU = reads("cpu"), reads("opencl")


def means(out: Iterable[Any]) -> list[float]:
    return [frame.regions[0].confidence for frame in out]


EXPECTED = pytest.approx([(80 + 20 * n - 16) * 255 / 219 for n in range(3)], abs=1)


# What comes before and after the model, the device, and threads.
AROUND = (
    ((), (), "GPU", 0),
    ((), (), "GPU.0", 1),
    ((), (ON_CPU,), "GPU", 0),
    ((ON_CPU,), (), "GPU", 1),
    ((ON_GPU,), (), "GPU", 0),
    ((), (ON_GPU,), "GPU.0", 0),
    ((ON_GPU, ON_CPU), (ON_CPU, ON_GPU), "GPU", 2),
)
# The first and the last of them from the other sources, too.
FROM = [
    *((announced, *around) for around in AROUND),
    *((not_announced, *around) for around in (AROUND[0], AROUND[-1])),
    *((lambda: list(surfaces("ffmpeg:VAAPI")), *around) for around in (AROUND[0], AROUND[-1])),
]


@pytest.mark.parametrize(("source", "before", "after", "device", "threads"), FROM)
def test_surfaces_reach_a_model_by_one_va_context(
    source: Any, before: Any, after: Any, device: str, threads: int
) -> None:
    pytest.importorskip("pyopencl", reason="missing package pyopencl: pip install pyopencl")
    infer = OpenVINOInfer(mean_of_image(), device, postprocess=as_region)
    made = [*(one() for one in before), infer, *(one() for one in after)]
    with el.Pipeline(source(), *made).start(threads=threads) as out:
        assert means(out) == EXPECTED
        said = out.explain()
    assert "both planes of the surface, through a VAContext of the same display" in said
    assert "planes: as surfaces" in infer.explain()
    assert sb.stats().copies == 0


@pytest.mark.parametrize(
    ("source", "surfaces_first", "known"),
    [
        (announced, True, True),
        (announced, False, False),
        (not_announced, False, True),
    ],
)
def test_beside_frames_of_the_cpu(source: Any, surfaces_first: bool, known: bool) -> None:
    @el.source(gives=el.Image("NV12", memory="cpu") if known else el.Media())
    def pictures() -> Iterator[Any]:
        for number in range(3):
            frame = sb.context("cpu").allocate_frame("NV12", 64, 64)
            frame.planes[0].native[...] = 80 + 20 * number
            frame.planes[1].native[...] = 128
            yield frame

    used: set[type] = set()

    def note(frame: Any, outputs: Any) -> list[sb.Region]:
        assert infer._images is not None
        used.add(type(infer._images.compiled.context))
        return as_region(frame, outputs)

    infer = OpenVINOInfer(mean_of_image(), "GPU", postprocess=note)
    both = [source(), pictures()] if surfaces_first else [pictures(), source()]
    with el.Pipeline(both, infer).start(threads=0) as out:
        assert sorted(means(out))[::2] == EXPECTED
        said = out.explain()
    assert "through a VAContext" in said
    assert VAContext in used
    assert sb.stats().copies == 0
