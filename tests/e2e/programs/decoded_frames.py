# SPDX-License-Identifier: Apache-2.0
"""Frames that VA-API decodes and scales to half their size, read by models on the GPU and the NPU.

Its arguments are a video of Motion JPEG, a model with one image input of float32 for the GPU, a
model with the inputs "y" and "uv" for the NPU, how many frames to take, and the .npz file to write
results to.
"""

import sys
from typing import Any

import av
import numpy as np
import openvino

import samebytes as sb
import samebytes_ffmpeg
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_gpu import VAContext, nv12_inputs
from samebytes_openvino.intel_npu import ZeroContext

FULL = {"INFERENCE_PRECISION_HINT": "f32"}


def main(video: str, gpu_model: str, npu_model: str, count: str, output: str) -> None:
    """Decode, scale, map, infer, and save what came out and what the software path makes."""
    core = openvino.Core()
    taking_nv12, names = nv12_inputs(core.read_model(gpu_model))
    gpu = npu = None
    found: dict[str, list[Any]] = {"y": [], "uv": [], "gpu": [], "npu": []}
    software = av.open(video).decode(video=0)
    for number, frame in enumerate(samebytes_ffmpeg.open(video, hwaccel="vaapi")):
        if number == int(count):
            break
        for name, plane in zip(("y", "uv"), halved(next(software)), strict=True):
            found[name].append(plane)
        sb.reset_stats()
        height, width = found["y"][0].shape
        surface = frame.convert("NV12", width, height)

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

        stats = sb.stats()
        assert (stats.copies, [*stats.by_conversion]) == (0, ["NV12 -> NV12 (vaapi)"]), stats
        assert {b.placement for b in [*gpu.bindings(), *npu.bindings()]} == {"in place"}
    stacked = {name: np.stack(arrays) for name, arrays in found.items()}
    np.savez(output, **stacked)  # type: ignore[arg-type]  # the stub's allow_pickle


def halved(decoded: av.VideoFrame) -> list[Any]:
    """The planes of NV12 in half the size, each sample the mean of four."""
    planes = sb.frame(decoded.reformat(format="nv12", dst_color_range="JPEG")).map("cpu").native
    made = []
    for plane in planes:
        wide = np.array(plane, np.uint16)
        four = wide[::2, ::2] + wide[1::2, ::2] + wide[::2, 1::2] + wide[1::2, 1::2]
        made.append(((four + 2) // 4).astype(np.uint8))
    return made


if __name__ == "__main__":
    main(*sys.argv[1:])
