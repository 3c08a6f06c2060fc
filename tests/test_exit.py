# SPDX-License-Identifier: Apache-2.0
"""The interpreter ends while mappings of all kinds are alive, and while threads still map."""

from __future__ import annotations

import subprocess
import sys

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
