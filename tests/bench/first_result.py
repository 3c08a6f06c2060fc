# SPDX-License-Identifier: Apache-2.0
"""From the start of a process to its first result: the README's model of images, and by hand."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .measure import Row

__all__ = ["first_result_rows"]

_INPUTS = Path(__file__).parents[2] / "samples" / "toy_inputs.py"

_BY_HAND = """
import av, cv2, openvino
from openvino.preprocess import PrePostProcessor
with av.open("video.mp4") as video:
    frames = video.decode(video=0)
    core = openvino.Core()
    model = core.read_model("detector.xml")
    _, _, height, width = model.input(0).shape
    processor = PrePostProcessor(model)
    image = processor.input()
    image.tensor().set_element_type(openvino.Type.u8).set_layout(openvino.Layout("NHWC"))
    image.preprocess().convert_element_type(openvino.Type.f32).scale(255)
    image.model().set_layout(openvino.Layout("NCHW"))
    request = core.compile_model(processor.build(), "CPU").create_infer_request()
    next(frames)
    rgb = next(frames).to_ndarray(format="rgb24")
    request.infer([cv2.resize(rgb, (width, height))[None]])
    print(request.get_output_tensor().data.shape)
"""

_OURS = """
import av
import samebytes as sb
import samebytes_openvino as sbo
with av.open("video.mp4") as video:
    frames = video.decode(video=0)
    first = sb.frame(next(frames))
    model = sbo.image_model("detector.xml", first, color="RGB", scale=255, quality="fast")
    outputs = model.infer(sb.frame(next(frames)))
    print(outputs[0].host_array().shape)
"""


def first_result_rows(quick: bool) -> list[Row]:
    """Wall time and CPU time of whole processes, in turns; imports are compiled before."""
    rounds = 5 if quick else 25
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
        # By this OpenVINO takes it for continuous integration, and reports nothing to Google from a
        # thread and a child process, which would be measured as well.
        environment["JENKINS_URL"] = "http://localhost/"
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        inputs = [sys.executable, str(_INPUTS), "video.mp4", "detector.xml"]
        subprocess.run(inputs, cwd=folder, check=True)
        for program in (_BY_HAND, _OURS):
            _run(program, folder, environment)
        pairs = [
            (_run(_BY_HAND, folder, environment), _run(_OURS, folder, environment))
            for _ in range(rounds)
        ]
    return [
        Row(
            what,
            min(by_hand[at] for by_hand, _ in pairs) * 1e3,
            min(ours[at] for _, ours in pairs) * 1e3,
            statistics.median(ours[at] / by_hand[at] for by_hand, ours in pairs),
            1.1,
            "ms",
        )
        for at, what in enumerate(("wall time", "CPU time"))
    ]


def _run(program: str, folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Wall time and CPU time of one process, in seconds."""
    wall, cpu = time.perf_counter(), _cpu_of_children()
    command = [sys.executable, "-c", program]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - wall, _cpu_of_children() - cpu


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
