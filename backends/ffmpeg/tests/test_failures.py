# SPDX-License-Identifier: Apache-2.0
"""Errors of FFmpeg are reported as what they are, without its numbers."""

from __future__ import annotations

import errno
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import av
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError, NegotiationError
from samebytes_ffmpeg import FFmpegSink, FFmpegSource

CLASSES: dict[int, Any] = vars(av.error)["classes"]
EXIT = next(number for number, kind in CLASSES.items() if kind is av.error.ExitError)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], str]:
    """Gives the words of a source for an error that PyAV raises when it opens the file."""

    def words(error: Exception) -> str:
        def opened(*_: object, **__: object) -> None:
            raise error

        with monkeypatch.context() as here:
            here.setattr(av, "open", opened)
            text = failure(FFmpegSource("tcp://host", timeout=4.0))
        _, opening, found = text.partition("FFmpeg cannot open it: ")
        assert opening
        return found

    return words


@pytest.mark.parametrize("number", sorted(CLASSES))
def test_every_error_of_ffmpeg_has_words(number: int, said: Callable[[Exception], str]) -> None:
    words = said(CLASSES[number](number, "Operation not permitted", "rtsp://me:pw@camera"))
    assert words
    assert str(number) not in re.findall(r"\d{4,}", words)
    assert "camera" not in words
    if number in (errno.EPERM, EXIT):
        assert "not permitted" not in words


@pytest.mark.skipif(
    "h264_nvenc" not in av.codec.codecs_available,
    reason="missing package av with the encoder h264_nvenc",
)
def test_without_nvenc_the_sink_says_so(tmp_path: Path) -> None:
    """There is none in CI, nor in A100, H100 and H200, where its library loads all the same."""
    frames = iter([av.VideoFrame(256, 256, "yuv420p")])
    pipeline = el.Pipeline(frames, FFmpegSink(tmp_path / "clip.mp4", codec="h264_nvenc"))
    try:
        pipeline.run()
    except ElementError as error:
        assert re.search("NVENC is not here: .* choose libx264", str(error))  # noqa: PT017 - or none
    else:
        pytest.skip("this GPU has NVENC")


def test_an_option_that_nvenc_does_not_know_is_another_error(
    said: Callable[[Exception], str],
) -> None:
    """Older PyAVs have another name for the error of an invalid argument."""
    opening = 'avcodec_open2("h264_nvenc", {})'
    words = said(CLASSES[errno.EINVAL](errno.EINVAL, "Invalid argument", opening))
    assert words.startswith("an option, size, rate or format is not possible here")
    assert "NVENC is not here" in said(CLASSES[errno.EPERM](errno.EPERM, "", opening))
    other = said(CLASSES[errno.EPERM](errno.EPERM, "", 'avcodec_open2("libx264", {})'))
    assert "NVENC" not in other


def test_a_name_that_no_encoder_has(clip: Any, tmp_path: Path) -> None:
    sink = FFmpegSink(tmp_path / "made.mp4", codec="h265")
    with pytest.raises(NegotiationError, match=r"no encoder 'h265': take one of .* 'hevc' for"):
        el.Pipeline(FFmpegSource(clip), sink).run()


def test_a_wrong_option_of_a_container_is_named(clip: Any, tmp_path: Path) -> None:
    sink = FFmpegSink(tmp_path / "made.mp4", container_options={"movflags": "nonsense"})
    with pytest.raises(ElementError, match="perhaps an option of container_options= is wrong"):
        el.Pipeline(FFmpegSource(clip), sink).run()


@contextmanager
def server(*answers: bytes) -> Iterator[int]:
    """Gives each who connects the same answers, one for each request; then it is silent."""
    listening = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection = listening.accept()[0]
            except OSError:
                return
            held.append(connection)
            with suppress(OSError):  # it may ask less often
                for answer in answers:
                    connection.recv(65536)
                    connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
        for connection in held:
            connection.close()


def failure(*items: Any, **options: Any) -> str:
    with pytest.raises(ElementError) as caught:
        el.Pipeline(*items).run(**options)
    text = str(caught.value)
    assert "Errno" not in text
    return text


def test_a_silent_camera() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        nobody = listening.getsockname()[1]
    for _ in range(20):  # the time-outs of the day's connections differ a little
        failure(FFmpegSource(f"tcp://127.0.0.1:{nobody}"))
    with server() as port:
        text = failure(FFmpegSource(f"tcp://127.0.0.1:{port}", timeout=0.1))
    assert "no data came for 0.1 s" in text
    assert f"127.0.0.1:{port}" in text


@pytest.mark.parametrize(
    ("status", "words"),
    [("401 Unauthorized", "not accepted"), ("403 Forbidden", "refused"), ("404 Gone", "nothing")],
)
@pytest.mark.parametrize("protocol", ["rtsp", "http"])
def test_what_a_server_refuses(protocol: str, status: str, words: str) -> None:
    version = "RTSP/1.0" if protocol == "rtsp" else "HTTP/1.1"
    answer = f"{version} {status}\r\nCSeq: 1\r\nContent-Length: 0\r\n\r\n".encode()
    with server(*[answer] * 5) as port:
        text = failure(FFmpegSource(f"{protocol}://me:pw@127.0.0.1:{port}/live", timeout=5))
    assert words in text
    assert "pw@" not in text


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    text = failure(FFmpegSource(f"tcp://127.0.0.1:{port}", live=True, reconnect=1, pause=0.0))
    assert "nothing listens" in text
    assert text.count("127.0.0.1") == 1


def test_raw_video_cannot_be_sought(clip: Path, tmp_path: Path) -> None:
    raw = tmp_path / "raw.h264"
    el.Pipeline(FFmpegSource(clip), FFmpegSink(raw, format="h264")).run()
    assert el.Pipeline(FFmpegSource(raw)).run().of("ffmpeg.source").frames_out
    assert "raw H.264 video cannot be sought" in failure(FFmpegSource(raw, start=0.5))


def test_a_file_that_names_no_format(clip: Path, tmp_path: Path) -> None:
    """Only pictures say the format of H.264, and here are none."""
    data = bytearray(clip.read_bytes())
    at = data.index(b"mdat")
    end = at - 4 + int.from_bytes(data[at - 4 : at], "big")
    data[at + 4 : end] = bytes(end - at - 4)
    empty = tmp_path / "empty.mp4"
    empty.write_bytes(data)
    assert "it is damaged" in failure(FFmpegSource(empty))


def test_files(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.mp4"
    garbage.write_bytes(bytes(range(256)) * 8)
    assert "no format that FFmpeg knows" in failure(FFmpegSource(garbage))
    assert "no such file" in failure(FFmpegSource(tmp_path / "nothing.mp4"))
    assert "no protocol" in failure(FFmpegSource("nothing://x"))
    frame = sb.context("cpu").allocate_frame("I420", 64, 48)
    text = failure([frame], FFmpegSink(tmp_path / "out.mp4", options={"preset": "quickest"}))
    assert "option" in text
