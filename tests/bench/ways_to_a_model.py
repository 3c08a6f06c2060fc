# SPDX-License-Identifier: Apache-2.0
"""Ways from a video file to a model of images, each in a process of its own.

python -m tests.bench.ways_to_a_model WAY STREAMS CLIP FOLDER

STREAMS is 1 or 4: so many of the video at a time. FOLDER has what `end_to_end` puts there. For each
line on its input the program makes one pass over the video, and prints a line of JSON: of all
frames but the first of each stream, for which pipelines compile the model. One thread decodes a
stream, and one computes. Pipelines with threads decode ahead before the second frame, so that their
CPU times are too small, most in short passes.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import openvino

__all__ = ["CONFIG", "OF_STREAMS", "SIZE", "STREAMS", "WAYS"]

Array = np.ndarray[Any, Any]
Pass = Callable[[], Iterator[Array]]

SIZE = 300
STREAMS = 4
CONFIG = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}


def main() -> None:
    """Make a pass for each line."""
    name, streams, clip, folder = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])
    run = (WAYS if streams == "1" else OF_STREAMS)[name](clip, folder)
    for _ in sys.stdin:
        passing = run()
        results = [next(passing)]
        wall, cpu = time.perf_counter(), time.process_time()
        results += passing
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        np.save(folder / f"{name}.npy", np.array(results[1:]))
        said = {"cpu": cpu, "wall": wall, "frames": len(results) - 1, "peak": _peak()}
        print(json.dumps(said), flush=True)


def _peak() -> float:
    """The most memory that this process had, in MB. getrusage() counts the parent's, too."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def _decoded(clip: str) -> Iterator[Any]:
    import av

    with av.open(clip) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        yield from container.decode(stream)


def _of_bgr(folder: Path) -> tuple[Any, Array]:
    """A request of the model that takes BGR of its own size, and its input."""
    from openvino.preprocess import ColorFormat, PrePostProcessor

    steps = PrePostProcessor(openvino.Core().read_model(folder / "light.xml"))
    tensor = steps.input().tensor()
    tensor.set_element_type(openvino.Type.u8).set_layout(openvino.Layout("NHWC"))
    tensor.set_color_format(ColorFormat.BGR)
    steps.input().preprocess().convert_element_type(openvino.Type.f32)
    steps.input().model().set_layout(openvino.Layout("NCHW"))
    request = _request(openvino.Core().compile_model(steps.build(), "CPU", CONFIG))
    return request, request.get_input_tensor().data[0]


def _request(compiled: Any) -> Any:
    return compiled.create_infer_request()


def _result(request: Any) -> Array:
    request.infer(share_outputs=True)
    found: Array = request.get_output_tensor().data.copy()
    return found


def _capture(clip: str, folder: Path) -> Pass:
    """cv2.VideoCapture, which gives BGR, and cv2.resize."""
    import cv2

    request, target = _of_bgr(folder)

    def run() -> Iterator[Array]:
        video = cv2.VideoCapture(clip, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
        while (read := video.read())[0]:
            cv2.resize(read[1], (SIZE, SIZE), dst=target)
            yield _result(request)

    return run


def _to_ndarray(clip: str, folder: Path) -> Pass:
    """PyAV's to_ndarray() and cv2.resize: the usual idiom."""
    import cv2

    request, target = _of_bgr(folder)

    def run() -> Iterator[Array]:
        for frame in _decoded(clip):
            cv2.resize(frame.to_ndarray(format="bgr24"), (SIZE, SIZE), dst=target)
            yield _result(request)

    return run


def _reformatter(clip: str, folder: Path) -> Pass:
    """One kept VideoReformatter of PyAV's, which scales and converts in one step."""
    from av.video.reformatter import VideoReformatter

    request, target = _of_bgr(folder)

    def run() -> Iterator[Array]:
        kept = VideoReformatter()
        for frame in _decoded(clip):
            target[...] = kept.reformat(frame, SIZE, SIZE, "bgr24").to_ndarray()
            yield _result(request)

    return run


def _preprocessor(clip: str, folder: Path) -> Pass:
    """The planes as they lie; OpenVINO's PrePostProcessor converts and resizes in the model."""
    from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm

    width, height, format_ = _kind_of(clip)
    steps = PrePostProcessor(openvino.Core().read_model(folder / "light.xml"))
    tensor = steps.input().tensor()
    tensor.set_element_type(openvino.Type.u8)
    if format_ == "nv12":
        tensor.set_color_format(ColorFormat.NV12_TWO_PLANES, ["y", "uv"])
    else:
        tensor.set_color_format(ColorFormat.I420_THREE_PLANES, ["y", "u", "v"])
    tensor.set_spatial_static_shape(height, width)
    steps.input().preprocess().convert_color(ColorFormat.BGR)
    steps.input().preprocess().convert_element_type(openvino.Type.f32)
    steps.input().preprocess().resize(ResizeAlgorithm.RESIZE_LINEAR)
    steps.input().model().set_layout(openvino.Layout("NCHW"))
    request = _request(openvino.Core().compile_model(steps.build(), "CPU", CONFIG))
    return partial(_set_in_place, request, clip)


def _set_in_place(request: Any, clip: str) -> Iterator[Array]:
    shapes = [port.shape for port in request.model_inputs]  # of whole rows
    for frame in _decoded(clip):
        for index, (plane, shape) in enumerate(zip(frame.planes, shapes, strict=True)):
            rows = np.frombuffer(plane, np.uint8)
            request.set_input_tensor(index, openvino.Tensor(rows, shape, openvino.Type.u8))
        yield _result(request)


def _by_hand_in_place(clip: str, folder: Path) -> Pass:
    """The planes as they lie, and the very model that image_model() makes."""
    return partial(_set_in_place, _request(_imported(folder / "exact.blob")), clip)


def _by_hand(clip: str, folder: Path) -> Pass:
    """The planes resized by cv2 into the inputs of the model that image_model(resize=) makes."""
    import cv2

    request = _request(_imported(folder / "resized.blob"))
    targets = _inputs_of(request)

    def run() -> Iterator[Array]:
        for frame in _decoded(clip):
            for plane, target in zip(_planes_of(frame), targets, strict=True):
                cv2.resize(plane, (SIZE, SIZE), dst=target)
            yield _result(request)

    return run


def _inputs_of(request: Any) -> list[Array]:
    """The inputs of a model of planes as pictures of one channel, or of two."""
    found = [request.get_input_tensor(n).data[0] for n in range(len(request.model_inputs))]
    return [each[..., 0] if each.shape[-1] == 1 else each for each in found]


def _planes_of(frame: Any) -> list[Array]:
    """The planes of a frame where they lie, as pictures of one channel, or of two."""
    found = []
    for number, plane in enumerate(frame.planes):
        channels = 2 if number and frame.format.name == "nv12" else 1
        rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
        seen = rows[:, : plane.width * channels]
        found.append(seen.reshape(plane.height, plane.width, 2) if channels == 2 else seen)
    return found


def _async_queue(clip: str, folder: Path) -> Pass:
    """The same with an AsyncInferQueue of two requests, which run while the next frame is made."""
    import cv2

    queue = openvino.AsyncInferQueue(_imported(folder / "resized.blob"), 2)
    targets = [_inputs_of(request) for request in queue]
    found: dict[int, Array] = {}
    queue.set_callback(
        lambda request, number: found.update({number: request.get_output_tensor().data.copy()})
    )

    def run() -> Iterator[Array]:
        found.clear()
        for number, frame in enumerate(_decoded(clip)):
            free = queue.get_idle_request_id()
            for plane, target in zip(_planes_of(frame), targets[free], strict=True):
                cv2.resize(plane, (SIZE, SIZE), dst=target)
            queue.start_async(userdata=number, share_inputs=True)
            if not number:
                queue.wait_all()
                yield found[0]  # from here on is timed
        queue.wait_all()
        for number in range(1, len(found)):
            yield found[number]

    return run


def _appsink(clip: str, folder: Path) -> Pass:
    """GStreamer, whose videoscale and videoconvert make BGR of the model's size for an appsink."""
    import gi

    gi.require_version("Gst", "1.0")
    gi.require_version("GstApp", "1.0")
    from gi.repository import Gst, GstApp

    Gst.init(None)
    assert GstApp is not None
    request, target = _of_bgr(folder)
    size = f"format=BGR,width={SIZE},height={SIZE},pixel-aspect-ratio=1/1"
    text = (
        f"filesrc location={clip} ! decodebin ! videoscale ! videoconvert ! video/x-raw,{size} "
        "! appsink name=out sync=false max-buffers=4"
    )

    def run() -> Iterator[Array]:
        pipeline = Gst.parse_launch(text)
        out = pipeline.get_by_name("out")
        pipeline.set_state(Gst.State.PLAYING)
        try:
            while (sample := out.pull_sample()) is not None:
                buffer = sample.get_buffer()
                found, held = buffer.map(Gst.MapFlags.READ)
                assert found
                pitch = len(held.data) // SIZE
                rows = np.frombuffer(held.data, np.uint8).reshape(SIZE, pitch)
                target[...] = rows[:, : 3 * SIZE].reshape(SIZE, SIZE, 3)
                buffer.unmap(held)
                yield _result(request)
        finally:
            pipeline.set_state(Gst.State.NULL)

    return run


def _imported(path: Path) -> Any:
    return openvino.Core().import_model(path.read_bytes(), "CPU", CONFIG)


def _image_model(clip: str, folder: Path, fast: bool) -> Pass:
    """image_model() in a loop."""
    import samebytes as sb
    import samebytes_openvino as sbo

    frame = sb.frame(next(_decoded(clip)))
    model = sbo.image_model(
        folder / "light.xml", frame, config=CONFIG, quality="fast" if fast else "exact"
    )

    def run() -> Iterator[Array]:
        for frame in _decoded(clip):
            yield model.infer(sb.frame(frame))[0].host_array().copy()

    return run


def _pipeline(clip: str, folder: Path, threads: int) -> Pass:
    """The same as a pipeline of elements."""
    import samebytes.elements as el

    def run() -> Iterator[Array]:
        found: dict[int | None, Array] = {}  # with two threads not in the order of the frames

        def read(frame: Any, outputs: Any) -> None:
            found[frame.pts] = outputs[0].host_array().copy()

        source = el.create("ffmpeg.source", clip, threads=1)
        infer = el.create(
            "openvino.infer", folder / "light.xml", postprocess=read, config=CONFIG,
            quality="fast",
        )  # fmt: skip
        with el.Pipeline(source, infer).start(threads=threads) as frames:
            for frame in frames:
                yield found[frame.pts]

    return run


def _kind_of(clip: str) -> tuple[int, int, str]:
    frame = next(_decoded(clip))
    return frame.width, frame.height, frame.format.name


def _streams(way: Callable[[str, Path], Pass], clip: str, folder: Path) -> Pass:
    """Four streams of the same video at a time, each in a thread of its own by one of the ways."""
    runs = [way(clip, folder) for _ in range(STREAMS)]

    def run() -> Iterator[Array]:
        passes = [each() for each in runs]
        firsts = [next(one) for one in passes]
        yield firsts[0]
        with ThreadPoolExecutor(STREAMS) as pool:
            yield from chain.from_iterable(pool.map(list, passes))

    return run


def _pipeline_of_streams(clip: str, folder: Path, threads: int) -> Pass:
    """Four streams into one model, as one pipeline."""
    import samebytes.elements as el
    from samebytes.metadata import SourceIdentifier, find

    def stream_of(frame: Any) -> int:
        said = find(frame, SourceIdentifier)
        return 0 if said is None else int(said.stream_id)

    def run() -> Iterator[Array]:
        found: dict[tuple[int, int], Array] = {}

        def read(frame: Any, outputs: Any) -> None:
            found[stream_of(frame), frame.pts or 0] = outputs[0].host_array().copy()

        sources = [el.create("ffmpeg.source", clip, threads=1) for _ in range(STREAMS)]
        infer = el.create(
            "openvino.infer", folder / "light.xml", postprocess=read, config=CONFIG,
            quality="fast",
        )  # fmt: skip
        with el.Pipeline(sources, infer).start(threads=threads) as frames:
            for _ in range(STREAMS):  # of any of the streams, and not timed
                next(frames)
            yield next(iter(found.values()))
            for _ in frames:
                pass
        firsts = {min(key for key in found if key[0] == stream) for stream in range(STREAMS)}
        yield from (found[key] for key in sorted(found) if key not in firsts)

    return run


WAYS: dict[str, Callable[[str, Path], Pass]] = {
    "by hand": _by_hand,
    "image_model, fast": partial(_image_model, fast=True),
    "Pipeline, threads=0": partial(_pipeline, threads=0),
    "Pipeline, threads=1": partial(_pipeline, threads=1),
    "Pipeline, threads=2": partial(_pipeline, threads=2),
    "by hand, in place": _by_hand_in_place,
    "image_model": partial(_image_model, fast=False),
    "PrePostProcessor by hand": _preprocessor,
    "VideoReformatter, kept": _reformatter,
    "to_ndarray + cv2.resize": _to_ndarray,
    "cv2.VideoCapture": _capture,
    "AsyncInferQueue by hand": _async_queue,
    "GStreamer appsink": _appsink,
}
OF_STREAMS: dict[str, Callable[[str, Path], Pass]] = {
    "by hand": partial(_streams, _by_hand),
    "image_model, fast": partial(_streams, partial(_image_model, fast=True)),
    "Pipeline, threads=0": partial(_pipeline_of_streams, threads=0),
    "Pipeline, threads=2": partial(_pipeline_of_streams, threads=2),
    "VideoReformatter, kept": partial(_streams, _reformatter),
    "cv2.VideoCapture": partial(_streams, _capture),
}


if __name__ == "__main__":
    main()
