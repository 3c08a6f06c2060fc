# SPDX-License-Identifier: Apache-2.0
"""Frames that FFmpeg uploads to VA surfaces, read by models on the GPU and on the NPU in place.

Its arguments are a video, a model with one image input of float32 for the GPU, a model with the
inputs "y" and "uv" for the NPU, how many frames to take, and the .npz file to write results to.
"""

import sys

import av
import numpy as np
import openvino

import samebytes as sb
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_gpu import VAContext, nv12_inputs
from samebytes_openvino.intel_npu import ZeroContext

FULL = {"INFERENCE_PRECISION_HINT": "f32"}


def main(video: str, gpu_model: str, npu_model: str, count: str, output: str) -> None:
    """Decode, upload, map, infer, and save what came out and what went in."""
    core = openvino.Core()
    device = sb.context("ffmpeg:VAAPI")
    taking_nv12, names = nv12_inputs(core.read_model(gpu_model))
    gpu = npu = None
    found: dict[str, list[np.ndarray]] = {"y": [], "uv": [], "gpu": [], "npu": []}
    for number, decoded in enumerate(av.open(video).decode(video=0)):
        if number == int(count):
            break
        software = sb.frame(decoded.reformat(format="nv12"))
        surface = software.map(device, copy=True)
        for name, plane in zip(("y", "uv"), software.map("cpu"), strict=True):
            found[name].append(np.array(plane.native))
        sb.reset_stats()

        remote = surface.map("openvino:GPU")
        assert isinstance(remote.context, VAContext)
        if gpu is None:
            gpu = InferRequest(compile_model(taking_nv12, remote.context, FULL))
        for name, taken in zip(names, remote, strict=True):
            gpu.set_tensor(name, taken)
        gpu.infer()
        found["gpu"].append(np.array(gpu.get_output_tensor().host_array()))

        planes = surface.map("openvino:NPU")
        assert isinstance(planes.context, ZeroContext)
        if npu is None:
            npu = InferRequest(compile_model(core.read_model(npu_model), planes.context))
        for name, taken in zip(("y", "uv"), planes, strict=True):
            npu.set_tensor(name, taken)
        npu.infer()
        found["npu"].append(np.array(npu.get_output_tensor().host_array()))

        assert sb.stats().copies == 0, sb.stats()
        ways = [[c.node for c in sb.route(surface, t).contexts] for t in (remote.context, "dma")]
        assert ways == [
            ["ffmpeg:VAAPI", "vaapi", "openvino:GPU"], ["ffmpeg:VAAPI", "vaapi", "dma"],
        ]  # fmt: skip
        bound = [*gpu.bindings(), *npu.bindings()]
        assert {b.placement for b in bound} == {"in place"}, bound
    stacked = {name: np.stack(arrays) for name, arrays in found.items()}
    np.savez(output, **stacked)  # type: ignore[arg-type]  # the stub's allow_pickle


if __name__ == "__main__":
    main(*sys.argv[1:])
