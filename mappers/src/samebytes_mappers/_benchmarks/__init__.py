# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of `samebytes bench` between two backends."""

from __future__ import annotations

from collections.abc import Iterator

from samebytes.benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_WAYS = "samebytes_mappers._benchmarks.ways"
_SIZES = ((1920, 1080), (640, 360), (3840, 2160), (7680, 4320), (318, 238))
_HAND = "np.frombuffer(plane) and openvino.Tensor() for each plane"

# The goals as shares of PrePostProcessor's time, by the width of the frames.
_GOALS = {(640, 360): 1.0, (1920, 1080): 0.35, (3840, 2160): 0.15}
_IMAGES = "samebytes_mappers._benchmarks.images"
_OPENCV = {"cv2": "pip install opencv-python-headless"}


def _image_rows(format_: str, size: tuple[int, int], goal: float) -> Iterator[Benchmark]:
    """A row for each size, since each has its own goal."""
    frames = f"{format_} {size[0]}x{size[1]}"
    yield Benchmark(
        name=f"image_model, {frames}",
        what="A model of 300x300 pixels runs on a decoded frame (CPU time)",
        make=f"{_IMAGES}:inside_{format_.lower()}",
        requires=("ffmpeg", "openvino", "opencv"),
        packages=_OPENCV,
        sizes=(size,),
        beside="PrePostProcessor and openvino.Tensor() for each plane",
        goal=goal,
    )
    yield Benchmark(
        name=f"image_model(resize=), {frames}",
        what="A model of 300x300 pixels runs on planes that OpenCV resized (CPU time)",
        make=f"{_IMAGES}:resized_{format_.lower()}",
        requires=("ffmpeg", "openvino", "opencv"),
        packages=_OPENCV,
        sizes=(size,),
        beside="to_ndarray() and cv2.resize(), which copy",
        goal=1.0,
    )


BENCHMARKS = [
    Benchmark(
        name="ffmpeg -> openvino, I420",
        what="The planes of a decoded frame become OpenVINO tensors",
        make=f"{_WAYS}:joined",
        edges=("ffmpeg -> openvino frame alias",),
        requires=("ffmpeg", "openvino"),
        sizes=_SIZES,
        beside=_HAND,
        goal=1.25,
    ),
    Benchmark(
        name='frame() and map("openvino"), I420',
        what="An av.VideoFrame becomes OpenVINO tensors",
        make=f"{_WAYS}:wrapped_and_joined",
        requires=("ffmpeg", "openvino"),
        sizes=_SIZES[:3],
        beside=_HAND,
        goal=1.6,
    ),
    Benchmark(
        name="ffmpeg -> cpu -> openvino, I420",
        what="The planes of a decoded frame become arrays and those OpenVINO tensors",
        make=f"{_WAYS}:two_hops",
        requires=("ffmpeg", "openvino"),
        beside=_HAND,
        goal=1.6,
    ),
    Benchmark(
        name="opencl -> opencv_umat, copied",
        what="An OpenCL buffer is copied into a new UMat, because copy=True asks for it,",
        make=f"{_WAYS}:to_umat",
        edges=("opencl -> opencv_umat tensor copy",),
        requires=("opencl", "opencv"),
        sizes=((640, 360),),
        alone="cv2 has no call that takes a cl_mem",
    ),
    *(
        row
        for size, goal in _GOALS.items()
        for format_ in ("I420", "NV12")
        for row in _image_rows(format_, size, goal)
    ),
]
