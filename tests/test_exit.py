# SPDX-License-Identifier: Apache-2.0
"""The interpreter ends while mappings of all kinds are alive, and while threads still map."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = """
import av, cv2, numpy as np, openvino, samebytes as sb, samebytes_openvino as sbo

def everything():
    cpu = sb.context("cpu")
    owned = [cpu.allocate((16, 16)), cpu.allocate_frame("NV12", 64, 32)]
    owned += [sb.context(t).allocate((16, 16)) for t in ("opencv", "openvino")]
    decoded = sb.frame(av.VideoFrame(64, 32, "yuv420p"))
    frames = [decoded, owned[1], sb.frame(np.zeros((32, 64, 3), np.uint8), format="BGR")]
    kept = [owned, frames]
    for frame in frames:
        for target in ("cpu", "ffmpeg", "opencv", "openvino"):
            mapped = frame.map(target, "rw")
            kept.append((mapped, mapped.native, list(mapped)))
            kept.append([np.asarray(p) for p in mapped])
            kept.append([p.__dlpack__(max_version=(1, 0)) for p in mapped])
    parameter = openvino.opset13.parameter([16, 16], openvino.Type.u8)
    model = openvino.Model([openvino.opset13.add(parameter, parameter)], [parameter])
    request = sbo.InferRequest(openvino.compile_model(model, "CPU"))
    request.set_input_tensor(0, owned[0].map("openvino"))
    kept.append((request, request.infer()))
    return kept
"""

ENDINGS = {
    "in a module": "kept = everything()",
    "in a cycle": "kept = everything(); kept.append(kept); del kept",
    "in a builtin": "import builtins; builtins.kept = everything()",
    "in an atexit handler": "import atexit; atexit.register(lambda k: len(k), everything())",
    "used in an atexit handler": (
        "import atexit; kept = everything()\n"
        "atexit.register(lambda: [f.map(t) for f in kept[1] for t in ('ffmpeg', 'openvino')])"
    ),
    "in a thread": (
        "import threading, time\n"
        "def work():\n"
        "    kept = everything()\n"
        "    ready.set()\n"
        "    while True:\n"
        "        kept[1][0].map('openvino').close()\n"
        "ready = threading.Event()\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "assert ready.wait(60)"
    ),
    "after an error": "kept = everything(); raise SystemExit(0)",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_interpreter_ends(ending: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", f"{PRELUDE}\n{ENDINGS[ending]}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


RUNNING = """
import os, signal, sys
import av, numpy as np, openvino, samebytes as sb, samebytes.elements as el

def pictures():
    while True:
        yield sb.frame(np.ones((512, 512, 3), np.uint8), format="BGR")

def model():
    made = image = openvino.opset13.parameter([1, 3, 512, 512], np.float32, name="image")
    for _ in range(9):
        made = openvino.opset13.matmul(made, image, False, False)
    return openvino.Model([openvino.opset13.result(made)], [image])

def decoded():
    path = sys.argv[1]
    if not os.path.exists(path):
        with av.open(path, "w") as container:
            stream = container.add_stream("mpeg4", rate=30)
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
            for _ in range(9):
                container.mux(stream.encode(av.VideoFrame(64, 48, "yuv420p")))
            container.mux(stream.encode(None))
    return el.create("ffmpeg.source", path, loop=True, threads=2)
"""

PIPELINES = {
    "a decoder's threads": "[decoded()]",
    "GStreamer's threads": '[el.create("gstreamer.source", "videotestsrc")]',
    "GStreamer's threads behind it": '[decoded(), el.create("gstreamer.sink", "fakesink")]',
    "inferences": '[pictures(), el.create("openvino.infer", model(), requests=2)]',
}

FORKED = """
running = el.Pipeline(*{elements}).start(threads={threads})
next(running)
for ends in "del running; sys.exit()", "sys.exit()":
    child = os.fork()
    if not child:
        signal.alarm(30)  # it may hang
        exec(ends)
    assert os.waitpid(child, 0) == (child, 0)
    next(running)
running.stop()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here: run it on Linux or macOS")
@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize("elements", PIPELINES)
def test_a_forked_child_ends_while_a_pipeline_runs(
    elements: str, threads: int, tmp_path: Path
) -> None:
    """It has none of the threads that the elements would wait for."""
    if "GStreamer" in elements:
        pytest.importorskip("gi", reason="missing package PyGObject: pip install PyGObject")
    program = FORKED.format(elements=PIPELINES[elements], threads=threads)
    done = subprocess.run(
        [
            *(sys.executable, "-X", "faulthandler", "-W", "ignore::DeprecationWarning"),
            *("-c", f"{RUNNING}\n{program}", str(tmp_path / "video.mkv")),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
