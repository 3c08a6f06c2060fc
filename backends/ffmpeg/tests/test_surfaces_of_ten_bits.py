# SPDX-License-Identifier: Apache-2.0
"""Surfaces of VA-API with 10 bits (P010) from ffmpeg.source: where they go, and where not.

The software driver decodes JPEG alone. So the decoder here decodes in software and uploads, which
is all that is different from a GPU that decodes such videos.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
import samebytes_ffmpeg
from samebytes.errors import ElementError, NegotiationError
from samebytes.testing import missing_device
from samebytes_ffmpeg import HardwareDevice
from samebytes_ffmpeg._elements import _vaapi_decoding
from samebytes_ffmpeg._elements._decoders import Decoder, StreamDecoder

pytestmark = [pytest.mark.usefixtures("vaapi", "vaapi_plugin"), pytest.mark.pyav17]

WIDTH, HEIGHT, FRAMES = 96, 64, 3


class Uploads(_vaapi_decoding.VAAPIDecoding):
    """As decoding by VA-API, by an upload of what software decodes."""

    def decoder(self, stream: Any, threads: int) -> Decoder:
        return Uploading(stream, threads)


class Uploading(StreamDecoder):
    """The decoder of that."""

    def decode(self, packet: av.Packet[Any]) -> Sequence[Any]:
        device = sb.context("ffmpeg:VAAPI")
        assert isinstance(device, HardwareDevice)
        frames = [frame.reformat(format="p010le") for frame in super().decode(packet)]
        found = [device.upload(frame).native for frame in frames]
        sb.reset_stats()
        return found


class Keeps(el.Sink):
    """Keeps the planes of frames, as arrays."""

    def __init__(self, memory: str) -> None:
        super().__init__()
        self.memory = memory
        self.kept: list[list[np.ndarray[Any, Any]]] = []

    @property
    def takes(self) -> el.Image:
        return el.Image(memory=self.memory)

    def write(self, frame: sb.Frame[Any]) -> None:
        self.kept.append(arrays(frame))


def arrays(frame: sb.Frame[Any]) -> list[np.ndarray[Any, Any]]:
    return [np.array(plane) for plane in frame.map("cpu").native]


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """A lossless video whose samples use all 10 bits."""
    path = tmp_path / "ten.mkv"
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("ffv1", rate=30)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p10le"
        across, down = np.arange(WIDTH), np.arange(HEIGHT)[:, None]
        for number in range(FRAMES):
            frame = av.VideoFrame(WIDTH, HEIGHT, "yuv420p10le")
            y, u, v = sb.frame(frame).map("cpu", "rw").native
            y[...] = 64 + (across * 5 + down * 3 + number * 40) % 870
            u[...], v[...] = 300 + across[: WIDTH // 2] * 4, 700 - down[: HEIGHT // 2] * 4
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.fixture
def surfaces(film: Path, monkeypatch: pytest.MonkeyPatch) -> el.Source:
    """The source of its frames as surfaces."""
    monkeypatch.setattr(_vaapi_decoding, "VAAPIDecoding", Uploads)
    source = el.create("ffmpeg.source", film, hwaccel="vaapi")
    assert isinstance(source, el.Source)
    return source


def in_software(film: Path, format_: str) -> list[list[np.ndarray[Any, Any]]]:
    with samebytes_ffmpeg.open(film) as video:
        return [arrays(frame.convert(format_)) for frame in video]


def equal(found: Any, expected: Any) -> None:
    assert len(found) == len(expected) == FRAMES
    for planes, others in zip(found, expected, strict=True):
        for plane, other in zip(planes, others, strict=True):
            np.testing.assert_array_equal(plane, other)


def test_their_bytes_are_read_where_they_are(surfaces: el.Source, film: Path) -> None:
    sink = Keeps("vaapi")
    el.Pipeline(surfaces, sink).run()
    equal(sink.kept, in_software(film, "P010"))
    assert sb.stats().copied_bytes == 0


@pytest.mark.parametrize("format_", ["NV12", "RGB", "I420_10", "P010"])
def test_the_element_converts_them(surfaces: el.Source, film: Path, format_: str) -> None:
    sink = Keeps("cpu")
    el.Pipeline(surfaces, el.create("convert", format_), sink).run()
    equal(sink.kept, in_software(film, format_))


def test_the_device_converts_them(surfaces: el.Source, film: Path) -> None:
    """By steps of a pipeline that call `Frame.convert`."""
    made: list[list[np.ndarray[Any, Any]]] = []

    def convert(frame: sb.Frame[Any]) -> None:
        there = frame.convert("NV12")
        assert there.context.node == "vaapi"
        made.append(arrays(there))

    el.Pipeline(surfaces, convert).run()
    assert sb.stats().copied_bytes == 0
    for planes, others in zip(made, in_software(film, "NV12"), strict=True):
        for plane, other in zip(planes, others, strict=True):
            assert np.abs(plane.astype(int) - other).max() <= 1


def test_a_file_takes_their_bits_after_a_conversion(
    surfaces: el.Source, film: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.mkv"
    sink = el.create("ffmpeg.sink", copy, codec="ffv1")
    el.Pipeline(surfaces, el.create("convert", "I420_10"), sink).run()
    equal(in_software(copy, "I420_10"), in_software(film, "I420_10"))


def test_a_file_takes_no_others(surfaces: el.Source, tmp_path: Path) -> None:
    sink = el.create("ffmpeg.sink", tmp_path / "copy.mkv")
    with pytest.raises(NegotiationError, match=r'P010 .* in ffmpeg:VAAPI.* el\.create\("convert"'):
        el.Pipeline(surfaces, sink).run()


def test_drawing(surfaces: el.Source, film: Path) -> None:
    pytest.importorskip(
        "samebytes_opencv", reason="missing package samebytes-opencv: pip install samebytes-opencv"
    )
    draw, sink = el.create("opencv.draw"), Keeps("cpu")
    with pytest.raises(NegotiationError, match=r'P010 .* in ffmpeg:VAAPI.* el\.create\("convert"'):
        el.Pipeline(surfaces, draw, sink).run()
    el.Pipeline(surfaces, el.create("convert", "I420"), draw, sink).run()
    equal(sink.kept, in_software(film, "I420"))


class TestModel:
    """A model of one image, which gives its mean."""

    @pytest.fixture
    def model(self) -> Any:
        openvino = pytest.importorskip(
            "openvino", reason="missing package openvino: pip install openvino"
        )
        pytest.importorskip(
            "samebytes_openvino",
            reason="missing package samebytes-openvino: pip install samebytes-openvino",
        )
        ops = openvino.opset13
        image = ops.parameter([1, 3, HEIGHT, WIDTH], np.float32, name="image")
        mean = ops.reduce_mean(image, ops.constant([1, 2, 3]))
        mean.output(0).get_tensor().set_names({"mean"})
        return openvino.Model([ops.result(mean)], [image], "mean")

    def means(self, model: Any, device: str, *steps: Any) -> list[float]:
        found: list[float] = []

        def note(_: Any, outputs: Any) -> list[sb.Region]:
            found.append(float(np.asarray(outputs["mean"].map("cpu").native).item()))
            return []

        infer = el.create("openvino.infer", model, device, postprocess=note)
        el.Pipeline(*steps, infer).run()
        return found

    def test_on_the_cpu(self, surfaces: el.Source, film: Path, model: Any) -> None:
        expected = self.means(model, "CPU", el.create("ffmpeg.source", film))
        assert len(expected) == FRAMES
        assert self.means(model, "CPU", surfaces) == pytest.approx(expected, abs=0.1)

    @pytest.mark.parametrize("device", ["GPU", "NPU"])
    def test_on_devices(self, surfaces: el.Source, film: Path, model: Any, device: str) -> None:
        """They refuse more than 8 bits, and say what to do."""
        import openvino

        if device not in openvino.Core().available_devices:
            pytest.skip(missing_device(device))
        with pytest.raises(ElementError, match=r"P010 .*convert\(\"NV12\"\)"):
            self.means(model, device, surfaces)
        found = self.means(model, device, surfaces, el.create("convert", "NV12"))
        expected = self.means(model, "CPU", el.create("ffmpeg.source", film))
        assert found == pytest.approx(expected, abs=0.5)
