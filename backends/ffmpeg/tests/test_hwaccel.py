# SPDX-License-Identifier: Apache-2.0
"""hwaccel= of ffmpeg.source: what it takes, what it says of that, and its limits.

No software device has NVDEC. Where frames on a GPU are needed, the decoder here decodes in software
and uploads, which is all that is different from `test_nvdec.py`, for machines with such a GPU.
"""

from __future__ import annotations

import ctypes
import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
import samebytes_ffmpeg
from samebytes import Frame
from samebytes.errors import ElementError, ParameterError, PoolTimeoutError
from samebytes_ffmpeg import FFmpegSource, HardwareDevice
from samebytes_ffmpeg._elements import _choosing
from samebytes_ffmpeg._elements._cuda_decoding import _NVDEC, CUDADecoding, _current, _hwaccel
from samebytes_ffmpeg._elements._decoders import (
    Decoder,
    NoHardwareError,
    SoftwareDecoding,
    StreamDecoder,
)
from samebytes_ffmpeg._elements._output import scheduled_as_before
from samebytes_ffmpeg._hardware import libcuda
from samebytes_ffmpeg._pyav import end_codec

CAPSULE: dict[str, Any] = {"stream": 1, "max_version": (1, 0)}


class OnGPU(el.Sink):
    """Takes arrays of CUDA."""

    takes = el.Image(memory="cuda")

    def write(self, frame: Frame[Any]) -> None:
        assert frame.context.node == "cuda"


class OnCPU(el.Sink):
    """Reads on the CPU."""

    takes = el.Image(memory="cpu")

    def write(self, frame: Frame[Any]) -> None:
        assert frame.context.node == "cpu"


class Uploads(CUDADecoding):
    """As NVDEC, by an upload of what software decodes."""

    def opening(self) -> AbstractContextManager[dict[str, Any]]:
        return nullcontext({})

    def decoder(self, stream: Any, threads: int) -> Decoder:
        if stream.codec_context.name == "mjpeg":
            raise NoHardwareError("NVDEC has no decoder for mjpeg")
        return Uploading(stream, threads)


class Uploading(StreamDecoder):
    """The decoder of that."""

    def decode(self, packet: av.Packet[Any]) -> Sequence[av.VideoFrame]:
        device = sb.context("ffmpeg:CUDA")
        assert isinstance(device, HardwareDevice)
        found = []
        for frame in super().decode(packet):
            native = device.upload(frame).native
            assert isinstance(native, av.VideoFrame)
            found.append(native)
        sb.reset_stats()
        return found


class LeavesSizes(Uploads):
    """As NVDEC, which FFmpeg gives up where frames of another size come."""

    def decoder(self, stream: Any, threads: int) -> Decoder:
        del threads
        return _LeavesSizes(OfOneSize(stream.codec_context), self)


class OfOneSize:
    """A codec context whose frames are on the device where they have the size of the first."""

    def __init__(self, codec: Any) -> None:
        self.codec, self.format, self._of = codec.codec, codec.format, codec
        self._size: tuple[int, int] | None = None

    def decode(self, packet: av.Packet[Any]) -> list[av.VideoFrame]:
        device = sb.context("ffmpeg:CUDA")
        assert isinstance(device, HardwareDevice)
        found = []
        for frame in self._of.decode(packet):
            self._size = self._size or (frame.width, frame.height)
            same = self._size == (frame.width, frame.height)
            native: Any = device.upload(frame).native if same else frame
            found.append(native)
        return found


class _LeavesSizes(_NVDEC):
    def close(self) -> None:
        """PyAV ends the codec."""


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that decodes, as far as a source sees."""
    monkeypatch.setattr(_choosing, "CUDADecoding", Uploads)


def one_frame(path: Path, codec: str, **options: str) -> Path:
    with av.open(str(path), "w") as container, scheduled_as_before():
        stream: Any = container.add_stream(codec, rate=30, options=options)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        container.mux(stream.encode(av.VideoFrame(64, 64, "yuv420p")))
        container.mux(stream.encode(None))
    return path


def moving(path: Path, codec: str, options: dict[str, str]) -> Path:
    """Twelve frames, of which some are predicted in both directions."""
    with av.open(str(path), "w", options=options) as container, scheduled_as_before():
        stream: Any = container.add_stream(codec, rate=30, options={"bf": "2"})
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for number in range(12):
            frame = av.VideoFrame(64, 64, "yuv420p")
            for plane in frame.planes:
                plane.update(bytes([20 * number]) * plane.buffer_size)
            frame.pts, frame.time_base = number, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def raw_video(path: Path, size: tuple[int, int]) -> Path:
    """One gray frame of H.264, without a container."""
    with av.open(str(path), "w", format="h264") as container:
        stream: Any = container.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        frame = av.VideoFrame(*size, "yuv420p")
        for plane in frame.planes:
            plane.update(bytes([size[0]]) * plane.buffer_size)
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


class WithoutNVDEC(CUDADecoding):
    """FFmpeg looks for NVDEC itself."""

    def opening(self) -> AbstractContextManager[dict[str, Any]]:
        return _current(libcuda.primary_context(0), _hwaccel(0))


class Noting(SoftwareDecoding):
    """Software, and what its decoder was asked to do."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def decoder(self, stream: Any, threads: int) -> Decoder:
        return _Noting(stream, threads, self.asked)


class _Noting(StreamDecoder):
    def __init__(self, stream: Any, threads: int, asked: list[str]) -> None:
        super().__init__(stream, threads)
        self._asked = asked

    def flush(self) -> None:
        self._asked.append("flush")

    def close(self) -> None:
        self._asked.append("close")


def test_a_decoder_ends_before_its_object(clip: Path) -> None:
    """FFmpeg's own threads are gone, and frames stay."""
    with av.open(str(clip)) as container:
        stream = container.streams.video[0]
        codec: Any = stream.codec_context
        codec.thread_count, codec.thread_type = 4, "FRAME"
        before = tasks()
        frame = next(container.decode(stream))
        pixels, decoding = frame.to_ndarray(), tasks() - before
        assert decoding
        end_codec(codec)
        for thread in threading.enumerate():
            if thread.name == "samebytes-end-of-decoder":
                thread.join()
        for _ in range(500):  # the system may take a moment
            if not decoding & tasks():
                break
            time.sleep(0.01)
        assert not decoding & tasks()
        with pytest.raises(ValueError, match=r"Invalid argument|unknown codec"):
            codec.decode(next(container.demux(stream)))
        assert np.array_equal(frame.to_ndarray(), pixels)


def test_the_process_waits_for_decoders_of_sources_in_pipelines(
    clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pipelines end sources in daemon threads, which nobody waits for."""
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def noted(thread: threading.Thread) -> None:
        started.append(thread)
        start(thread)

    with av.open(str(clip)) as container:
        codec = container.streams.video[0].codec_context
        reads = threading.Thread(target=end_codec, args=(codec,), daemon=True)
        with monkeypatch.context() as here:
            here.setattr(threading.Thread, "start", noted)
            reads.start()
            reads.join()
    assert [thread.daemon for thread in started] == [True, False]


_END = """
import sys, av
from samebytes_ffmpeg._pyav import end_codec

def frames():
    with av.open(sys.argv[1]) as container:
        stream = container.streams.video[0]
        try:
            yield from container.decode(stream)
        finally:
            end_codec(stream.codec_context)
            print("ended")

some = frames()
next(some)
"""


def test_a_decoder_ends_as_the_interpreter_does(clip: Path) -> None:
    """A thread that begins then never runs, and whoever waits for it waits forever."""
    done = subprocess.run(
        [sys.executable, "-c", _END, clip], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("ended\n", "")


def tasks() -> set[str]:
    """The threads of this process, by their numbers."""
    return {task.name for task in Path("/proc/self/task").iterdir()}


def test_other_values_are_refused(clip: Path) -> None:
    with pytest.raises(ParameterError, match="hwaccel"):
        FFmpegSource(clip, hwaccel="cuvid")
    assert FFmpegSource(clip).hwaccel is None


def test_vaapi_says_what_is_missing(clip: Path) -> None:
    """The clip is H.264, which no software device decodes."""
    with pytest.raises(ElementError, match=r"(renderD255|libav|VA).*: leave hwaccel out"):
        samebytes_ffmpeg.open(clip, hwaccel="vaapi", device=127)


def test_cuda_says_what_is_missing(clip: Path) -> None:
    try:
        ctypes.CDLL("libnvcuvid.so.1")
    except OSError:
        with pytest.raises(ElementError, match="is missing: install NVIDIA's driver"):
            samebytes_ffmpeg.open(clip, hwaccel="cuda")
    else:
        pytest.skip("this machine has NVDEC: test_nvdec.py")


def test_auto_without_a_gpu_is_software(clip: Path) -> None:
    """And nothing is loaded for who reads on the CPU."""
    text = el.Pipeline(FFmpegSource(clip, hwaccel="auto"), OnCPU()).explain()
    assert "  decoded in software: what comes next takes frames of the CPU as well" in text
    assert not sb.stats().copies
    with samebytes_ffmpeg.open(clip, hwaccel="auto") as video:
        assert next(video).context.node == "ffmpeg"
        assert video.how == "decoded in software: nobody says that the frames go to a GPU"


def test_nothing_is_said_where_nothing_was_asked_for(clip: Path) -> None:
    text = el.Pipeline(FFmpegSource(clip), OnCPU()).explain()
    assert "decoded" not in text


@pytest.mark.usefixtures("cuda", "cuda_plugin", "uploads")
class TestOnDevice:
    def test_the_frames_are_on_the_device(self, clip: Path) -> None:
        with (
            samebytes_ffmpeg.open(clip) as software,
            samebytes_ffmpeg.open(clip, hwaccel="cuda") as video,
        ):
            assert str(video.info) == "image I420 322x242 in ffmpeg:CUDA, 30 fps"
            for frame, other in zip(video, software, strict=True):
                there = frame.map("cuda")
                assert there.pts == other.pts
                ours, theirs = (one.map("cpu", copy=True).planes[0] for one in (there, other))
                assert np.array_equal(np.asarray(ours), np.asarray(theirs))

    def test_ffmpegs_copies_are_counted_and_said(self, clip: Path) -> None:
        pipe = el.Pipeline(FFmpegSource(clip, hwaccel="cuda"), OnGPU())
        assert "FFmpeg COPIES each frame on the device (not with unsafe_output" in pipe.explain()
        sb.reset_stats()
        with samebytes_ffmpeg.open(clip, hwaccel="cuda", frames=1) as video:
            assert len(list(video)) == 1
        found = sb.stats().by_edge["NVDEC -> ffmpeg:CUDA"]
        assert (found.copies, found.nbytes) == (1, 322 * 242 + 2 * 161 * 121)

    @pytest.mark.parametrize("extra", [0, 5])
    def test_surfaces_that_are_kept_end_in_an_error_that_says_how_many(
        self, clip: Path, extra: int
    ) -> None:
        options = {"unsafe_output": True, "extra_hw_frames": extra, "timeout": 0.1}
        kept: list[Any] = []
        with samebytes_ffmpeg.open(clip, hwaccel="cuda", **options) as video:
            assert f"of which {extra + 3} may be out" in video.how
            with pytest.raises(PoolTimeoutError, match=rf"all {extra + 3} frames of its pool"):
                # What holds the surface in the end is an array of somebody else's.
                kept.extend(frame.map("cuda")[0].__dlpack__(**CAPSULE) for frame in video)
            assert len(kept) == extra + 3
            kept.clear()
            assert sum(1 for _ in video) == 48 - extra - 3
        assert not sb.stats().by_edge

    def test_a_wait_for_a_surface_is_interrupted(self, clip: Path) -> None:
        options = {"unsafe_output": True, "extra_hw_frames": 0, "timeout": 60.0}
        with samebytes_ffmpeg.open(clip, hwaccel="cuda", **options) as video:
            kept = list(itertools.islice(video, 3))
            timer = threading.Timer(0.05, video.interrupt)
            timer.start()
            assert list(video) == []
            timer.join()
        del kept

    @pytest.mark.parametrize(
        ("name", "codec", "options", "searched"),
        [
            ("clip.mp4", "libx264", {}, False),
            ("fragments.mp4", "libx264", {"movflags": "frag_keyframe+empty_moov"}, True),
            ("clip.mp4", "mpeg4", {}, True),
            ("clip.mkv", "libx264", {}, True),
            ("clip.avi", "libx264", {}, True),
        ],
    )
    def test_what_a_header_says_is_not_searched_for(
        self, name: str, codec: str, options: dict[str, str], searched: bool, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        """FFmpeg would decode the first pictures in software, only to open the file."""
        if codec not in av.codecs_available:
            pytest.skip(f"this FFmpeg has no {codec}")
        searched = searched or int(av.__version__.partition(".")[0]) >= 19  # no stream_options
        path = moving(tmp_path / name, codec, options)
        with samebytes_ffmpeg.open(path) as video:
            expected = [frame.pts for frame in video]
        known: list[str | None] = []

        def opened(*arguments: Any, **named: Any) -> Any:
            container = unchanged(*arguments, **named)
            found = container.streams.video[0].codec_context.format
            known.append(found and found.name)
            return container

        unchanged = av.open
        monkeypatch.setattr(av, "open", opened)
        with samebytes_ffmpeg.open(path, hwaccel="cuda") as video:
            assert [frame.pts for frame in video] == expected
        assert len(expected) == 12
        assert known[-1] == ("yuv420p" if searched else None)
        # Who asks for a search has one.
        samebytes_ffmpeg.open(path, hwaccel="cuda", options={"probesize": "5000000"}).close()
        assert known[-1] == "yuv420p"

    def test_auto_goes_by_what_comes_next(self, clip: Path) -> None:
        for sink, node in ((OnGPU(), "ffmpeg:CUDA"), (OnCPU(), "ffmpeg"), (None, "ffmpeg")):
            steps = [FFmpegSource(clip, hwaccel="auto"), sink or (lambda frame: frame)]
            text = el.Pipeline(*steps).explain()
            assert f"in {node}, 30 fps" in text
        assert "as well or better" in text

    def test_auto_takes_software_for_what_the_device_cannot_decode(self, tmp_path: Path) -> None:
        path = tmp_path / "clip.mkv"
        with av.open(str(path), "w") as container:
            stream: Any = container.add_stream("mjpeg", rate=30)
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuvj420p"
            container.mux(stream.encode(av.VideoFrame(64, 48, "yuvj420p")))
            container.mux(stream.encode(None))
        text = el.Pipeline(FFmpegSource(path, hwaccel="auto"), OnGPU(), copy=True).explain()
        assert "decoded in software: NVDEC has no decoder for mjpeg" in text
        with pytest.raises(ElementError, match="no decoder for mjpeg: leave hwaccel out"):
            samebytes_ffmpeg.open(path, hwaccel="cuda")

    @pytest.mark.pyav17
    def test_another_decoder_of_ffmpegs_where_the_first_knows_no_hardware(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of AV1 FFmpeg prefers libdav1d. Its own decoder asks for NVDEC, which is not here."""
        monkeypatch.setattr(_choosing, "CUDADecoding", WithoutNVDEC)
        path = one_frame(tmp_path / "clip.mp4", "libsvtav1", preset="12")
        with pytest.raises(ElementError, match="NVDEC cannot decode this av1 of 64x64"):
            samebytes_ffmpeg.open(path, hwaccel="cuda")
        text = el.Pipeline(FFmpegSource(path, hwaccel="auto"), OnGPU(), copy=True).explain()
        assert "decoded in software: NVDEC cannot decode this av1 of 64x64" in text

    @pytest.mark.pyav17
    def test_a_codec_that_ffmpeg_has_for_the_cpu_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_choosing, "CUDADecoding", WithoutNVDEC)
        path = one_frame(tmp_path / "clip.mkv", "ffv1")
        with pytest.raises(ElementError, match="NVDEC has no decoder for ffv1: leave hwaccel out"):
            samebytes_ffmpeg.open(path, hwaccel="cuda")

    def test_sizes_that_change(self, tmp_path: Path) -> None:
        """Frames of the size before stay as they are."""
        path = tmp_path / "sizes.h264"
        parts = [(64, 48), (130, 70), (64, 48)]
        data = [raw_video(tmp_path / "part.h264", size).read_bytes() for size in parts]
        path.write_bytes(b"".join(data))
        with samebytes_ffmpeg.open(path, hwaccel="cuda") as video:
            kept = [frame.map("cuda") for frame in video]
        with samebytes_ffmpeg.open(path) as software:
            for ours, theirs in zip(kept, software, strict=True):
                assert (ours.width, ours.height) == (theirs.width, theirs.height)
                found, other = (f.map("cpu", copy=True).planes[0] for f in (ours, theirs))
                assert np.array_equal(np.asarray(found), np.asarray(other))
        assert [(f.width, f.height) for f in kept] == parts

    @pytest.mark.parametrize("unsafe_output", [False, True])
    def test_sizes_that_ffmpeg_decodes_in_software(
        self, unsafe_output: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With hwaccel="auto", and after frames that NVDEC has decoded: they go on as they are."""
        monkeypatch.setattr(_choosing, "CUDADecoding", LeavesSizes)
        path = tmp_path / "sizes.h264"
        parts = [(64, 48), (130, 70), (64, 48)]
        data = [raw_video(tmp_path / "part.h264", size).read_bytes() for size in parts]
        path.write_bytes(b"".join(data))
        source = FFmpegSource(path, hwaccel="auto", unsafe_output=unsafe_output)
        sb.reset_stats()
        with el.Pipeline(source, OnGPU(), copy=True).start() as out:
            found = [(frame.width, frame.context.node) for frame in out]
        assert found == [(64, "ffmpeg:CUDA"), (130, "ffmpeg"), (64, "ffmpeg:CUDA")]
        copied = sb.stats().by_edge.get("NVDEC -> ffmpeg:CUDA")
        assert (copied and copied.copies) == (None if unsafe_output else 2)

    def test_a_device_that_fails_at_the_first_frame(
        self, clip: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """FFmpeg's error for any call of NVDEC's that fails: no software device has it."""

        def fail(*_: Any) -> Any:
            raise av.error.ExternalError(542398533, "Generic error in an external library")

        monkeypatch.setattr(Uploading, "decode", fail)
        with pytest.raises(ElementError, match="library or device reports an error"):
            samebytes_ffmpeg.open(clip, hwaccel="cuda")

    def test_a_start_and_passes(self, clip: Path) -> None:
        options = {"start": 1.0, "loop": True, "frames": 30}
        with (
            samebytes_ffmpeg.open(clip, **options) as software,
            samebytes_ffmpeg.open(clip, hwaccel="cuda", **options) as video,
        ):
            assert [f.pts for f in video] == [f.pts for f in software]


def test_the_decoder_hears_of_seeks_and_of_the_end(
    clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noting = Noting()
    monkeypatch.setattr(_choosing, "SoftwareDecoding", lambda: noting)
    with samebytes_ffmpeg.open(clip, start=0.5, frames=2) as video:
        assert len(list(video)) == 2
    assert noting.asked == ["flush", "close"]
