# SPDX-License-Identifier: Apache-2.0
"""Decoding by VA-API: Motion JPEG on the software driver, beside FFmpeg's own decoder."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
import samebytes_ffmpeg
from samebytes.errors import (
    ClosedError,
    ElementError,
    MissingDependencyError,
    NativeError,
    PoolTimeoutError,
    RouteError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes.plugins import advice_to_open
from samebytes_ffmpeg import FFmpegHardwareFrame, HardwareDevice, VAAPIDecoder
from samebytes_ffmpeg._hardware.nodes import refusal_of

SIZE = (98, 66)
FRAMES = 6

pytestmark = pytest.mark.usefixtures("jpeg")


def picture(number: int, size: tuple[int, int]) -> av.VideoFrame:
    """A picture with edges and colours, different for each number."""
    width, height = size
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 0] = np.arange(width) * 2 + number * 9
    pixels[..., 1] = (np.arange(height) * 3)[:, None]
    pixels[10:30, 10 + number : 40 + number] = (240, 20, 60)
    frame = av.VideoFrame.from_ndarray(pixels, "rgb24").reformat(format="yuvj420p")
    frame.pts, frame.time_base = number, Fraction(1, 30)
    return frame


def write(path: Path, size: tuple[int, int] = SIZE, codec: str = "mjpeg") -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=30)
        assert isinstance(stream, av.video.stream.VideoStream)
        stream.width, stream.height = size
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        for number in range(FRAMES):
            container.mux(stream.encode(picture(number, size)))
        container.mux(stream.encode(None))
    return path


@pytest.fixture(scope="session")
def motion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("motion") / "motion.avi")


@pytest.fixture
def stream(motion: Path) -> Iterator[av.VideoStream]:
    with av.open(str(motion)) as container:
        yield container.streams.video[0]


def packets(stream: av.VideoStream) -> list[Any]:
    container: Any = stream.container
    return [packet for packet in container.demux(stream) if packet.size]


def every_frame(decoder: VAAPIDecoder, stream: av.VideoStream) -> list[Any]:
    given = [frame for packet in packets(stream) for frame in decoder.decode(packet)]
    return given + decoder.flush()


def in_memory(frame: Any) -> list[np.ndarray[Any, Any]]:
    return [np.array(plane) for plane in sb.frame(frame).map("cpu", copy=True).native]


def decoded_by_software(path: Path) -> list[Any]:
    with av.open(str(path)) as container:
        return [frame.reformat(format="nv12") for frame in container.decode(video=0)]


def same(hardware: Any, software: av.VideoFrame) -> bool:
    theirs = [np.array(plane) for plane in sb.frame(software).map("cpu").native]
    return all(
        np.array_equal(ours, other) for ours, other in zip(in_memory(hardware), theirs, strict=True)
    )


def test_frames_are_those_of_the_software_decoder_bit_for_bit(
    motion: Path, stream: av.VideoStream
) -> None:
    software = decoded_by_software(motion)
    with VAAPIDecoder(stream) as decoder:
        count = 0
        for packet in packets(stream):
            for native in decoder.decode(packet):
                frame = sb.frame(native)
                assert isinstance(frame, FFmpegHardwareFrame)
                assert frame.context is decoder.device
                assert str(frame.image) == str(sb.frame(software[count]).image)
                assert frame.meta.pts == software[count].pts
                assert frame.meta.time_base == software[count].time_base
                assert frame.metadata["color_range"] == "full"  # as of JPEG
                assert same(native, software[count])
                count += 1
        assert decoder.flush() == []
    assert count == FRAMES


def test_a_download_is_counted_and_decoding_is_not(stream: av.VideoStream) -> None:
    with VAAPIDecoder(stream) as decoder:
        (native,) = decoder.decode(packets(stream)[0])
        assert sb.stats().copied_bytes == 0
        frame = sb.frame(native)
        assert isinstance(frame, FFmpegHardwareFrame)
        frame.download()
    assert sb.stats().copied_bytes == SIZE[0] * SIZE[1] * 3 // 2


def test_frames_outlive_decoder_and_container(motion: Path) -> None:
    with av.open(str(motion)) as container:
        stream = container.streams.video[0]
        with VAAPIDecoder(stream) as decoder:
            kept = every_frame(decoder, stream)
        del decoder, stream
    gc.collect()
    for ours, theirs in zip(kept, decoded_by_software(motion), strict=True):
        assert same(ours, theirs)


def test_surfaces_are_given_back(stream: av.VideoStream) -> None:
    softva = pytest.importorskip(
        "samebytes_softdevices",
        reason="missing package samebytes-softdevices: pip install samebytes-softdevices",
    )
    before = len(softva.va_live("surface"))
    with VAAPIDecoder(stream) as decoder:
        kept = every_frame(decoder, stream)
        assert len(softva.va_live("surface")) > before
        assert decoder.held == FRAMES
    del kept, decoder
    gc.collect()
    assert len(softva.va_live("surface")) == before


def test_an_error_says_how_many_frames_are_kept(stream: av.VideoStream) -> None:
    with VAAPIDecoder(stream, extra_hw_frames=3, timeout=0.01) as decoder:
        some = packets(stream)
        kept = [frame for packet in some[:3] for frame in decoder.decode(packet)]
        with pytest.raises(PoolTimeoutError, match="3 of its frames are held, of at most 3"):
            decoder.decode(some[3])
        del kept[0]
        assert decoder.held == 2
        assert len(decoder.decode(some[3])) == 1
        kept.clear()
        assert decoder.held == 0


def test_a_mapping_holds_a_frame_of_the_decoders(stream: av.VideoStream) -> None:
    pytest.importorskip(
        "samebytes_vaapi", reason="missing package samebytes-vaapi: pip install samebytes-vaapi"
    )
    with VAAPIDecoder(stream) as decoder:
        (frame,) = decoder.decode(packets(stream)[0])
        mapped = sb.frame(frame).map("cpu", copy=False)
        del frame
        assert decoder.held == 1
        del mapped
        assert decoder.held == 0


def test_the_wait_ends_with_a_frame_that_another_thread_drops(stream: av.VideoStream) -> None:
    with VAAPIDecoder(stream, extra_hw_frames=1, timeout=60) as decoder:
        first, second = packets(stream)[:2]
        kept = decoder.decode(first)
        thread = threading.Timer(0.02, kept.clear)
        thread.start()
        assert len(decoder.decode(second)) == 1
        thread.join()


def test_sizes_that_change(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{number}.avi", size)
        for number, size in enumerate([(64, 48), (130, 70), (64, 48)])
    ]
    with av.open(str(paths[0])) as container, VAAPIDecoder(container.streams.video[0]) as decoder:
        kept = []
        for path in paths:
            with av.open(str(path)) as other:
                packet = packets(other.streams.video[0])[0]
                (frame,) = decoder.decode(packet)
            assert same(frame, decoded_by_software(path)[0])
            kept.append(frame)
    assert [(frame.width, frame.height) for frame in kept] == [(64, 48), (130, 70), (64, 48)]
    assert same(kept[0], decoded_by_software(paths[0])[0])


def damaged(packet: Any) -> Any:
    """The packet with other bits in the middle of its picture."""
    data = bytearray(bytes(packet))
    data[len(data) // 2 : len(data) // 2 + 8] = b"\xff\x17" * 4
    return av.Packet(bytes(data))


def test_a_damaged_packet_is_an_error_and_the_next_is_decoded(
    motion: Path, stream: av.VideoStream
) -> None:
    first, second = packets(stream)[:2]
    with VAAPIDecoder(stream) as decoder:
        for bad in (damaged(first), av.Packet(bytes(first)[:40]), av.Packet(b"nothing")):
            with pytest.raises(av.error.InvalidDataError, match="mjpeg"):
                decoder.decode(bad)
        (frame,) = decoder.decode(second)
    assert same(frame, decoded_by_software(motion)[1])


class TestSource:
    def test_a_video_is_decoded_to_surfaces(self, motion: Path) -> None:
        software = decoded_by_software(motion)
        with samebytes_ffmpeg.open(motion, hwaccel="vaapi") as video:
            assert video.info is not None
            assert (video.info.memory, video.info.format) == ("ffmpeg:VAAPI", "NV12")
            assert "decoded by VA-API on the default device" in video.how
            count = 0
            for count, frame in enumerate(video, 1):
                assert frame.context.node == "ffmpeg:VAAPI"
                assert frame.meta.pts == software[count - 1].pts
                assert same(frame.native, software[count - 1])
        assert count == FRAMES

    def test_the_decoder_has_the_options(self, motion: Path) -> None:
        options = {"skip_frame": "all", "rtsp_transport": "tcp"}
        with samebytes_ffmpeg.open(motion, hwaccel="vaapi", options=options) as video:
            assert not list(video)
        with pytest.raises(ElementError, match=r"av_opt_set\(skip_frame\)"):
            samebytes_ffmpeg.open(motion, hwaccel="vaapi", options={"skip_frame": "most"})

    def test_a_pipeline_seeks_and_ends(self, motion: Path) -> None:
        seen: list[int | None] = []
        source = el.create("ffmpeg.source", motion, hwaccel="vaapi", start=0.1)
        pipeline = el.Pipeline(source, Notes(seen))
        assert "decoded by VA-API" in pipeline.explain()
        pipeline.run()
        assert seen == [3, 4, 5]

    def test_frames_that_are_kept(self, motion: Path) -> None:
        with samebytes_ffmpeg.open(
            motion, hwaccel="vaapi", extra_hw_frames=2, timeout=0.1
        ) as video:
            kept = [next(video), next(video)]
            with pytest.raises(PoolTimeoutError, match="all 2 frames"):
                next(video)
            kept.clear()
            assert next(video).meta.pts == 2

    def test_what_the_driver_lacks(self, tmp_path: Path) -> None:
        clip = write(tmp_path / "clip.mp4", codec="libx264")
        with pytest.raises(ElementError, match="does not decode this h264 by VA-API"):
            samebytes_ffmpeg.open(clip, hwaccel="vaapi")


class Notes(el.Sink):
    """Notes the times of frames on a device."""

    takes = el.Image(memory="ffmpeg:VAAPI")

    def __init__(self, seen: list[int | None]) -> None:
        super().__init__()
        self._seen = seen

    def write(self, frame: sb.Frame[Any]) -> None:
        self._seen.append(frame.meta.pts)


def test_a_closed_decoder(stream: av.VideoStream) -> None:
    decoder = VAAPIDecoder(stream)
    packet = packets(stream)[0]
    (frame,) = decoder.decode(packet)
    decoder.close()
    decoder.close()
    with pytest.raises(ClosedError, match="the decoder was closed"):
        decoder.decode(packet)
    with pytest.raises(ClosedError):
        decoder.flush()
    assert in_memory(frame)[0].shape == SIZE[::-1]


def test_a_decoder_that_is_closed_with_all_its_frames_out(stream: av.VideoStream) -> None:
    """It waits for no frame any more, also where another thread closes it."""
    some = packets(stream)
    decoder = VAAPIDecoder(stream, extra_hw_frames=1, timeout=60)
    (frame,) = decoder.decode(some[0])
    thread = threading.Timer(0.02, decoder.close)
    thread.start()
    with pytest.raises(ClosedError):
        decoder.decode(some[1])
    thread.join()
    with pytest.raises(ClosedError):
        decoder.flush()
    assert decoder.held == 1
    assert in_memory(frame)[0].shape == SIZE[::-1]


def test_a_decoder_begins_again_after_its_end(motion: Path, stream: av.VideoStream) -> None:
    software = decoded_by_software(motion)
    some = packets(stream)
    with VAAPIDecoder(stream) as decoder:
        for _ in range(2):
            (frame,) = decoder.decode(some[0])
            assert same(frame, software[0])
            assert decoder.flush() == []


def test_codecs_that_the_driver_lacks(tmp_path: Path) -> None:
    with (
        av.open(str(write(tmp_path / "clip.mp4", codec="libx264"))) as container,
        VAAPIDecoder(container.streams.video[0]) as decoder,
        pytest.raises(UnsupportedObjectError, match="does not decode this h264 by VA-API"),
    ):
        every_frame(decoder, container.streams.video[0])
    with (
        av.open(str(write(tmp_path / "clip.mkv", codec="ffv1"))) as container,
        pytest.raises(UnsupportedObjectError, match="ffv1 is not decoded by VA-API here"),
    ):
        VAAPIDecoder(container.streams.video[0])


class TestDevices:
    def test_a_node_that_is_not_there(self, stream: av.VideoStream) -> None:
        with pytest.raises(UnknownNameError, match="DRM render node '/dev/dri/renderD255'"):
            VAAPIDecoder(stream, "/dev/dri/renderD255")

    @pytest.mark.usefixtures("vaapi_plugin")
    def test_a_device_of_another_kind(self, stream: av.VideoStream) -> None:
        others: list[Any] = [sb.context("vaapi"), sb.context("ffmpeg:DRM"), 3]
        for other in others:
            with pytest.raises(UnsupportedObjectError, match="not a device of FFmpeg's"):
                VAAPIDecoder(stream, other)

    @pytest.mark.usefixtures("vaapi_plugin")
    def test_a_surface_goes_to_its_own_display_alone(self, stream: av.VideoStream) -> None:
        with VAAPIDecoder(stream) as decoder:
            (native,) = decoder.decode(packets(stream)[0])
        frame = sb.frame(native)
        own = frame.map("vaapi").context
        assert own.handle("va_display") == frame.context.handle("va_display")
        with pytest.raises(RouteError, match="another VADisplay"):
            frame.map(sb.context("vaapi"))

    def test_no_node(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("samebytes_ffmpeg._hardware.nodes._FOLDER", tmp_path)
        refusal = refusal_of(None, -542398533)  # AVERROR_EXTERNAL
        assert isinstance(refusal, MissingDependencyError)
        assert refusal.missing == f"a GPU (no {tmp_path}/renderD*)"
        assert "samebytes-softdevices run --vaapi" in refusal.hint

    def test_a_node_without_permission(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Root may open every file: the question is answered as for another user.
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        node = tmp_path / "renderD128"
        node.touch(mode=0)
        with pytest.raises(MissingDependencyError, match="permission to use") as caught:
            HardwareDevice.open("vaapi", str(node))
        assert caught.value.hint == advice_to_open(node)

    def test_no_driver(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        node = tmp_path / "renderD128"
        node.touch()
        with pytest.raises(NativeError, match="av_hwdevice_ctx_create"):
            HardwareDevice.open("vaapi", str(node))  # it is not a DRM node
        monkeypatch.setenv("LIBVA_DRIVERS_PATH", str(tmp_path))
        again = tmp_path / "renderD129"  # no test has a device of this path, which would be given
        again.symlink_to(sb.context("ffmpeg:VAAPI").device.drm_node or "/dev/null")
        with pytest.raises(MissingDependencyError, match="intel-media-va-driver"):
            HardwareDevice.open("vaapi", str(again))
