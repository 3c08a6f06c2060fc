# SPDX-License-Identifier: Apache-2.0
"""Decoding by NVDEC, on an NVIDIA GPU: no software device of samebytes decodes for CUDA."""

from __future__ import annotations

import ctypes
import itertools
import os
import socket
import threading
from collections.abc import Callable, Iterator
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
from samebytes.errors import ElementError, PoolTimeoutError
from samebytes_ffmpeg import FFmpegSource
from samebytes_ffmpeg._elements._output import scheduled_as_before
from samebytes_ffmpeg._hardware import nvcuvid

pytestmark = [pytest.mark.usefixtures("nvdec", "cuda_plugin")]

SIZE = (1920, 1080)
Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def nvdec() -> None:
    """NVDEC, or the tests are skipped."""
    for name in ("libcuda.so.1", "libnvcuvid.so.1"):
        try:
            ctypes.CDLL(name)
        except OSError:
            pytest.skip(f"NVDEC is in NVIDIA's GPUs alone: there is no {name} here")
    sb.context("ffmpeg:CUDA")


@pytest.fixture(scope="module")
def torch() -> Any:
    """PyTorch for CUDA; it makes the primary context as it likes it."""
    found = pytest.importorskip("torch", reason="missing package torch: pip install torch")
    if not found.cuda.is_available():
        pytest.skip("this build of torch has no CUDA")
    return found


def write(
    path: Path, codec: str = "libx264", frames: int = 40, size: tuple[int, int] = SIZE,
    format_: str = "yuv420p", **options: str,
) -> Path:  # fmt: skip
    """A moving picture."""
    width, height = size
    with av.open(str(path), "w") as container, scheduled_as_before():
        stream: Any = container.add_stream(codec, rate=30, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, format_
        for number in range(frames):
            picture = np.zeros((height, width, 3), np.uint8)
            picture[..., 0] = (np.arange(width) // 4 + 3 * number) % 256
            picture[..., 1] = ((np.arange(height) // 2 + number) % 256)[:, None]
            picture[50 + number : 90 + number, 100:160] = (250, 20, 20)
            frame = av.VideoFrame.from_ndarray(picture, "rgb24").reformat(format=format_)
            frame.pts, frame.time_base = number, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 frames of H.264 of 1920x1080, predicted in both directions."""
    path = tmp_path_factory.mktemp("films") / "film.mp4"
    return write(path, preset="veryfast", bf="2", g="20")


def downloaded_by_ffmpeg(path: Path) -> Iterator[Array]:
    """The same by PyAV and FFmpeg alone: NVDEC, and FFmpeg's own download."""
    from av.codec.hwaccel import HWAccel

    with av.open(str(path), hwaccel=HWAccel("cuda", allow_software_fallback=False)) as container:
        for frame in container.decode(video=0):
            yield rows(sb.frame(frame))


def decoded_in_software(path: Path) -> Iterator[Array]:
    """The same by the decoder that PyAV takes, in the layout of NVDEC."""
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            wide = "10" in frame.format.name
            luma, *chroma = (np.asarray(plane) for plane in sb.frame(frame).map("cpu").native)
            picture = luma.reshape(-1), np.stack(chroma, axis=-1).reshape(-1)
            whole = np.concatenate(picture)
            yield (whole << 6 if wide else whole).view(np.uint8)


def rows(frame: Frame) -> Array:
    """The bytes of a frame in memory, without those between rows."""
    planes = frame.map("cpu", copy=True).planes
    return np.concatenate(
        [np.ascontiguousarray(p.native).reshape(-1).view(np.uint8) for p in planes]
    )


CODECS = {
    "H.264": ("libx264", "yuv420p", "mp4"),
    "HEVC": ("libx265", "yuv420p", "mp4"),
    "HEVC of 10 bits": ("libx265", "yuv420p10le", "mp4"),
    "VP9": ("libvpx-vp9", "yuv420p", "webm"),
    "AV1": ("libsvtav1", "yuv420p", "mp4"),
    "AV1 of 10 bits": ("libsvtav1", "yuv420p10le", "mp4"),
}


@pytest.mark.parametrize("unsafe_output", [False, True])
@pytest.mark.parametrize("name", CODECS)
def test_the_bits_are_those_of_ffmpegs_download(
    name: str, unsafe_output: bool, tmp_path: Path
) -> None:
    codec, format_, ending = CODECS[name]
    if codec not in av.codecs_available:
        pytest.skip(f"this FFmpeg has no {codec}")
    quick = {"libvpx-vp9": {"deadline": "realtime", "cpu-used": "8"}}.get(codec, {})
    path = write(tmp_path / f"clip.{ending}", codec, 12, (640, 480), format_, **quick)
    bits = 10 if "10" in format_ else 8
    name = av.Codec(codec, "w").canonical_name
    if not nvcuvid.decodes(0, name, bits):
        said = rf"the GPU has no decoder for {name} of {bits} bits, as its driver says\): leave"
        with pytest.raises(ElementError, match=said):
            samebytes_ffmpeg.open(path, hwaccel="cuda", unsafe_output=unsafe_output)
        assert name == "av1", f"each GPU with NVDEC that torch runs on decodes {name}"
        return
    count = 0
    # Of AV1 PyAV opens libdav1d, which uses no hardware: but the bits are the standard's.
    theirs = decoded_in_software(path) if codec == "libsvtav1" else downloaded_by_ffmpeg(path)
    with samebytes_ffmpeg.open(path, hwaccel="cuda", unsafe_output=unsafe_output) as video:
        for frame, expected in zip(video, theirs, strict=True):
            assert frame.context.node == "ffmpeg:CUDA"
            assert np.array_equal(rows(frame.map("cuda")), expected)
            count += 1
    assert count == 12


def test_video_that_the_gpu_does_not_decode_is_refused_by_its_name(tmp_path: Path) -> None:
    path = write(tmp_path / "clip.mp4", "libx264", 4, (640, 480), "yuv422p")
    with pytest.raises(ElementError, match="cannot decode this h264 of 640x480 in yuv422p"):
        samebytes_ffmpeg.open(path, hwaccel="cuda")
    assert nvcuvid.decodes(0, "h264", 8)
    assert not nvcuvid.decodes(0, "h264", 12)
    assert nvcuvid.decodes(0, "theora", 8) is None


def test_the_arrays_are_the_decoders_memory(film: Path, torch: Any) -> None:
    with samebytes_ffmpeg.open(film, hwaccel="cuda") as video:
        frame = next(video)
        there = frame.map("cuda", "rw")
        luma = torch.from_dlpack(there[0])
        assert luma.data_ptr() == frame.native.planes[0].buffer_ptr
        assert luma.shape == SIZE[::-1]
        luma.fill_(77)
        torch.cuda.synchronize()
        assert (frame.native.to_ndarray(format="nv12")[: SIZE[1]] == 77).all()
        del there, luma
    assert set(sb.stats().by_edge) == {"NVDEC -> ffmpeg:CUDA"}


@pytest.mark.parametrize("unsafe_output", [False, True])
def test_torch_sees_what_software_decodes(film: Path, torch: Any, unsafe_output: bool) -> None:
    with (
        samebytes_ffmpeg.open(film) as software,
        samebytes_ffmpeg.open(film, hwaccel="cuda", unsafe_output=unsafe_output) as video,
    ):
        for frame, other in zip(video, software, strict=True):
            luma = torch.from_dlpack(frame.map("cuda")[0])
            assert frame.pts == other.pts
            assert int(luma.sum(dtype=torch.int64)) == int(other.map("cpu")[0].native.sum())


def test_work_on_other_streams_is_waited_for(film: Path, torch: Any) -> None:
    """Surfaces come round again while slow work on earlier ones is still under way."""
    expected = [int(f.map("cpu")[0].native.sum()) for f in samebytes_ffmpeg.open(film)]
    streams = [torch.cuda.Stream() for _ in range(3)]
    found = []
    options = {"unsafe_output": True, "extra_hw_frames": 4}
    with samebytes_ffmpeg.open(film, hwaccel="cuda", **options) as video:
        for number, frame in enumerate(video):
            stream = streams[number % len(streams)]
            held = frame.map("cuda", queue=stream)
            with torch.cuda.stream(stream):
                torch.cuda._sleep(5_000_000)
                found.append(torch.from_dlpack(held[0]).sum(dtype=torch.int64))
            del frame, held
    torch.cuda.synchronize()
    assert [int(one) for one in found] == expected


def test_work_on_the_stream_that_frames_are_made_for(film: Path, torch: Any) -> None:
    """One for each of several threads: nothing waits by an event, and every byte is right."""
    expected = [int(f.map("cpu")[0].native.sum()) for f in samebytes_ffmpeg.open(film)]
    found: list[list[int]] = []

    def read(unsafe_output: bool) -> None:
        stream, sums = torch.cuda.Stream(), []
        options = {"unsafe_output": unsafe_output, "extra_hw_frames": 4}
        with (
            samebytes_ffmpeg.open(film, hwaccel="cuda", queue=stream, **options) as video,
            torch.cuda.stream(stream),
        ):
            for number, frame in enumerate(video):
                plane = frame[0] if number % 2 else frame.map("cuda", queue=stream)[0]
                luma = torch.from_dlpack(plane)
                assert luma.data_ptr() == frame[0].handle("cuda_ptr")
                torch.cuda._sleep(2_000_000)
                sums.append(luma.sum(dtype=torch.int64))
                del plane, luma, frame
        stream.synchronize()
        found.append([int(one) for one in sums])

    threads = [threading.Thread(target=read, args=(number % 2 == 0,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_the_default_stream_takes_planes_as_they_are(film: Path, torch: Any) -> None:
    expected = [int(f.map("cpu")[0].native.sum()) for f in samebytes_ffmpeg.open(film)]
    with samebytes_ffmpeg.open(film, hwaccel="cuda", unsafe_output=True) as video:
        sums = []
        for frame in video:
            torch.cuda._sleep(2_000_000)
            sums.append(torch.from_dlpack(frame[0]).sum(dtype=torch.int64))
            del frame
    assert [int(one) for one in sums] == expected


def test_many_streams_that_end(film: Path, torch: Any) -> None:
    """torch gives out 32 streams again and again, each time as a new object."""
    with samebytes_ffmpeg.open(film, hwaccel="cuda", loop=True, frames=200) as video:
        for frame in video:
            stream = torch.cuda.Stream()
            held = frame.map("cuda", queue=stream)
            with torch.cuda.stream(stream):
                torch.from_dlpack(held[0]).sum()
            del frame, held, stream
    torch.cuda.synchronize()


@pytest.mark.parametrize("extra", [0, 8])
def test_frames_that_are_kept_end_in_an_error_that_says_how_many(film: Path, extra: int) -> None:
    options = {"unsafe_output": True, "extra_hw_frames": extra, "timeout": 0.2}
    kept: list[Any] = []
    with samebytes_ffmpeg.open(film, hwaccel="cuda", **options) as video:
        most = extra + 3
        with pytest.raises(PoolTimeoutError, match=rf"all {most} frames of its pool are in use"):
            kept.extend(frame.map("cuda") for frame in video)
        assert len(kept) == most
        # And it goes on when some come back.
        pointers = {frame[0].handle("cuda_ptr") for frame in kept}
        assert len(pointers) == most
        kept.clear()
        assert sum(1 for _ in video) == 40 - most


def test_copies_are_kept_as_long_as_one_likes(film: Path) -> None:
    with samebytes_ffmpeg.open(film, hwaccel="cuda") as video:
        kept = [frame.map("cuda") for frame in video]
    assert len({frame[0].handle("cuda_ptr") for frame in kept}) == 40
    copied = sb.stats().by_edge["NVDEC -> ffmpeg:CUDA"]
    assert (copied.copies, copied.nbytes) == (40, 40 * 1920 * 1080 * 3 // 2)


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


def test_auto_goes_by_what_comes_next(film: Path) -> None:
    text = el.Pipeline(FFmpegSource(film, hwaccel="auto"), OnGPU()).explain()
    assert "decoded by NVDEC on GPU 0, and FFmpeg COPIES each frame on the device" in text
    assert "ffmpeg:CUDA -> cuda" in text
    text = el.Pipeline(FFmpegSource(film, hwaccel="auto"), OnCPU()).explain()
    assert "decoded in software: what comes next takes frames of the CPU" in text
    for sink, copies in ((OnGPU(), 40), (OnCPU(), 0)):
        sb.reset_stats()
        ran = el.Pipeline(FFmpegSource(film, hwaccel="auto"), sink).run()
        assert ran.of("ffmpeg.source").frames_out == 40
        assert sb.stats().copies == copies


def test_auto_takes_software_for_what_nvdec_lacks(tmp_path: Path) -> None:
    path = write(tmp_path / "clip.mkv", "ffv1", 3, (320, 240))
    running = el.Pipeline(FFmpegSource(path, hwaccel="auto"), OnGPU(), copy=True)
    assert "decoded in software: NVDEC has no decoder for ffv1" in running.explain()
    path = write(tmp_path / "high.mkv", "libx264", 3, (320, 240), "yuv444p")
    running = el.Pipeline(FFmpegSource(path, hwaccel="auto"), OnGPU(), copy=True)
    assert "decoded in software: NVDEC cannot decode this h264 of 320x240" in running.explain()


def test_a_start_in_the_middle(film: Path) -> None:
    with (
        samebytes_ffmpeg.open(film, start=0.5) as software,
        samebytes_ffmpeg.open(film, hwaccel="cuda", start=0.5) as video,
    ):
        expected = [frame.pts for frame in software]
        assert [frame.pts for frame in video] == expected


def test_sizes_that_change(tmp_path: Path) -> None:
    parts = [
        write(tmp_path / f"{n}.h264", "libx264", 5, size, preset="ultrafast")
        for n, size in enumerate([(640, 480), (1280, 720), (640, 480)])
    ]
    path = tmp_path / "joined.h264"
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    with samebytes_ffmpeg.open(path, hwaccel="cuda") as video:
        sizes = [(f.map("cuda").width, f.height) for f in video]
    assert [size for size, _ in itertools.groupby(sizes)] == [(640, 480), (1280, 720), (640, 480)]
    assert len(sizes) == 15


PROFILES = {
    "H.264": ("h264", "libx264", ["baseline", "high", "main"]),
    "HEVC of 8 and 10 bits": ("hevc", "libx265", ["main", "main10", "main"]),
}


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_that_change(name: str, tmp_path: Path) -> None:
    """In one size; of HEVC the frames change their format with it."""
    ending, codec, profiles = PROFILES[name]
    path = tmp_path / f"joined.{ending}"
    with path.open("wb") as joined:
        for profile in profiles:
            format_ = "yuv420p10le" if profile == "main10" else "yuv420p"
            part = tmp_path / f"{profile}.{ending}"
            write(part, codec, 5, (640, 480), format_, preset="ultrafast", profile=profile)
            joined.write(part.read_bytes())
    with samebytes_ffmpeg.open(path, hwaccel="cuda") as video:
        found = [(frame.image.format.name, rows(frame.map("cuda"))) for frame in video]
    expected = list(decoded_in_software(path))
    bits = ["P010" if profile == "main10" else "NV12" for profile in profiles for _ in range(5)]
    assert [format_ for format_, _ in found] == bits
    assert all(map(np.array_equal, (data for _, data in found), expected))


def change_to_444(folder: Path) -> Path:
    """A stream of five frames of a profile that NVDEC has, and five of one that it lacks."""
    parts = [
        write(folder / f"{format_}.h264", "libx264", 5, (640, 480), format_, preset="ultrafast")
        for format_ in ("yuv420p", "yuv444p")
    ]
    path = folder / "joined.h264"
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    return path


def test_a_profile_that_nvdec_lacks(tmp_path: Path) -> None:
    with samebytes_ffmpeg.open(change_to_444(tmp_path), hwaccel="cuda") as video:
        for _ in range(5):
            assert next(video).context.node == "ffmpeg:CUDA"
        with pytest.raises(ElementError, match="cannot decode this h264 of 640x480 in yuv444p"):
            next(video)


@pytest.mark.parametrize("unsafe_output", [False, True])
def test_auto_counts_frames_of_nvdec_alone(tmp_path: Path, unsafe_output: bool) -> None:
    """Not those that FFmpeg goes on to decode in software."""
    path = change_to_444(tmp_path)
    source = FFmpegSource(path, hwaccel="auto", unsafe_output=unsafe_output)
    sb.reset_stats()
    ran = el.Pipeline(source, OnGPU(), copy=True).run()
    assert ran.of("ffmpeg.source").frames_out == 10
    counted = sb.stats().by_edge.get("NVDEC -> ffmpeg:CUDA")
    assert (counted.copies if counted else 0) == (0 if unsafe_output else 5)


def test_a_connection_that_is_made_again(tmp_path: Path) -> None:
    data = write(tmp_path / "clip.ts", "libx264", 20, (640, 480), preset="ultrafast").read_bytes()
    with serving(data) as port:
        source = {"live": True, "reconnect": 1, "pause": 0.0, "timeout": 5.0, "frames": 50}
        with samebytes_ffmpeg.open(f"tcp://127.0.0.1:{port}", hwaccel="cuda", **source) as video:
            nodes = [frame.map("cuda").context.node for frame in video]
    assert nodes == ["cuda"] * 50


class serving:  # noqa: N801 - used as a function
    """Sends the same bytes to each who connects."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._server = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> int:
        threading.Thread(target=self._serve, daemon=True).start()
        return int(self._server.getsockname()[1])

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._server.accept()
            except OSError:
                return
            with peer:
                peer.sendall(self._data)

    def __exit__(self, *exc: object) -> None:
        self._server.close()


def test_frames_outlive_the_decoder(film: Path) -> None:
    for unsafe_output in (False, True):
        with samebytes_ffmpeg.open(film, hwaccel="cuda", unsafe_output=unsafe_output) as video:
            kept = [frame.map("cuda") for frame in itertools.islice(video, 4)]
        expected = list(itertools.islice(downloaded_by_ffmpeg(film), 4))
        assert [bool(np.array_equal(rows(k), e)) for k, e in zip(kept, expected, strict=True)] == [
            True
        ] * 4
        kept.clear()


def test_corrupt_data(film: Path, tmp_path: Path) -> None:
    data = bytearray(film.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 4000] = os.urandom(4000)
    path = tmp_path / "corrupt.mp4"
    path.write_bytes(data)
    with samebytes_ffmpeg.open(path, hwaccel="cuda", live=True, reconnect=0) as video:
        assert sum(1 for _ in video) > 10


@pytest.mark.slow
@pytest.mark.parametrize("unsafe_output", [False, True])
def test_nothing_grows(film: Path, torch: Any, unsafe_output: bool) -> None:
    """Memory of the device and of the process, and descriptors, over many frames."""
    looks: list[tuple[int, int]] = []

    def look() -> None:
        free = torch.cuda.mem_get_info()[0]
        looks.append((free, len(list(Path("/proc/self/fd").iterdir()))))

    options = {"loop": True, "frames": 2400, "unsafe_output": unsafe_output}
    with samebytes_ffmpeg.open(film, hwaccel="cuda", **options) as video:
        for number, frame in enumerate(video):
            torch.from_dlpack(frame.map("cuda")[0]).sum()
            if number % 400 == 399:
                look()
    assert looks[-1][1] <= looks[1][1]
    assert looks[1][0] - looks[-1][0] <= 64 << 20


def test_another_thread_that_has_no_context(film: Path) -> None:
    found: list[int] = []

    def decode() -> None:
        with samebytes_ffmpeg.open(film, hwaccel="cuda", frames=3) as video:
            found.extend(frame.map("cuda")[0].handle("cuda_ptr") for frame in video)

    made: Callable[[], None] = decode
    thread = threading.Thread(target=made)
    thread.start()
    thread.join()
    assert len(found) == 3
