# SPDX-License-Identifier: Apache-2.0
"""Models of images on what decoders really give: every width, full range, video surfaces."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
import samebytes_opencv
import samebytes_openvino as sbo
from samebytes import probe
from samebytes.errors import MissingDependencyError, UnknownNameError
from samebytes.testing import missing_device

Array = np.ndarray[Any, Any]


def echo(height: int = 40, width: int = 64) -> openvino.Model:
    """A model that gives its image back."""
    x = ops.parameter([1, 3, height, width], np.float32, name="image")
    return openvino.Model([ops.result(ops.relu(x))], [x], "echo")


def image_of(outputs: Any) -> Array:
    """(height, width, 3)."""
    image: Array = np.asarray(outputs.planes[0])[0].transpose(1, 2, 0)
    return image


def decoded(path: Path, codec: str, format_: str, width: int, height: int) -> av.VideoFrame:
    """The last frame of a short video whose left half is dark red and whose right half is blue."""
    image = np.zeros((height, width, 3), np.uint8)
    image[:, : width // 2], image[:, width // 2 :] = (0, 0, 130), (200, 40, 40)
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = width, height, format_
        if codec == "mjpeg":
            stream.codec_context.color_range = 2
        for number in range(3):
            frame = av.VideoFrame.from_ndarray(image, format="bgr24").reformat(format=format_)
            frame.pts, frame.time_base = number, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with av.open(str(path)) as container:
        return list(container.decode(video=0))[-1]


@pytest.mark.parametrize("resize", [None, samebytes_opencv.resize], ids=["inside", "opencv"])
@pytest.mark.parametrize("width", [320, 322, 720, 854, 960, 1366])
@pytest.mark.parametrize(
    ("codec", "format_"), [("libx264", "yuv420p"), ("libx264", "yuv444p"), ("mjpeg", "yuvj422p")]
)
def test_decoded_frames_of_every_width(
    codec: str, format_: str, width: int, resize: Any, tmp_path: Path
) -> None:
    frame = sb.frame(decoded(tmp_path / "clip.mkv", codec, format_, width, 180))
    model = sbo.image_model(echo(), frame, resize=resize)
    sb.reset_stats()
    request = model.create_infer_request()
    image = image_of(request.infer(frame))
    assert sb.stats().copied_bytes == 0
    assert {b.placement for b in request.bindings()} == {"in place"}
    # Full range, taken for limited, would be off by 16 and more.
    np.testing.assert_allclose(image[10:30, 5:25].mean((0, 1)), (0, 0, 130), atol=6)
    np.testing.assert_allclose(image[10:30, 40:60].mean((0, 1)), (200, 40, 40), atol=6)


@pytest.mark.parametrize("said", [None, "bt709"])
@pytest.mark.parametrize("device", ["CPU", "GPU"])
def test_video_surfaces(device: str, said: str | None) -> None:
    """In place on a GPU; on the CPU through an image that is derived from the surface.

    Colours of BT.709 are computed from what the GPU's plugin makes of them by BT.601, where that
    clips nothing.
    """
    if not probe("vaapi").usable:
        pytest.skip(missing_device("VAAPI"))
    if not any(name.startswith(device) for name in openvino.Core().available_devices):
        pytest.skip(missing_device(device))
    pixels = np.random.default_rng(0).integers(16, 235, (96, 64), np.uint8)
    if said:
        pixels = (118 + (pixels - 118.0) / 6).astype(np.uint8)
    surface = sb.context("vaapi").allocate_frame("NV12", 64, 64)
    with surface.map("cpu", "w") as planes:
        planes.planes[0].native[...] = pixels[:64]
        planes.planes[1].native[...] = pixels[64:].reshape(32, 32, 2)
    plain = sb.frame(pixels, format="NV12", width=64, height=64)
    if said:
        surface.metadata["color_matrix"] = plain.metadata["color_matrix"] = said
    want = image_of(sbo.image_model(echo(), plain).infer(plain))
    model = sbo.image_model(echo(), surface, device=device)
    sb.reset_stats()
    image = image_of(model.infer(surface))
    assert sb.stats().copies == 0
    np.testing.assert_allclose(image, want, atol=2)
    assert ("as surfaces" in model.explain()) == (device == "GPU")


def test_the_fast_way_needs_no_function() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (270, 320), np.uint8)
    frame = sb.frame(av.VideoFrame.from_ndarray(noise, "yuv420p"))
    by_word = sbo.image_model(echo(), frame, quality="fast")
    by_hand = sbo.image_model(echo(), frame, resize=samebytes_opencv.resize)
    exact = sbo.image_model(echo(), frame)
    images = [image_of(model.infer(frame)).copy() for model in (by_word, by_hand, exact)]
    np.testing.assert_array_equal(images[0], images[1])
    assert not np.array_equal(images[0], images[2])
    found: list[Array] = []

    def read(_frame: Any, outputs: Any) -> None:
        found.append(image_of(outputs).copy())

    infer = el.create("openvino.infer", echo(), quality="fast", postprocess=read)
    el.Pipeline([frame], infer).run(threads=0)
    np.testing.assert_array_equal(found[0], images[0])


def test_the_fast_way_names_what_is_missing(tmp_path: Path) -> None:
    frame = sb.frame(decoded(tmp_path / "clip.mkv", "libx264", "yuv420p", 320, 180))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAMEBYTES_PLUGINS", "cpu,ffmpeg,openvino")
        sb.refresh()
        with pytest.raises(MissingDependencyError, match=r"resizes planes.*opencv"):
            sbo.image_model(echo(), frame, quality="fast")
    sb.refresh()
    with pytest.raises(UnknownNameError, match="'exact'"):
        sbo.image_model(echo(), frame, quality="exat")  # type: ignore[arg-type]  # a slip
