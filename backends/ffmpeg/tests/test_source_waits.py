# SPDX-License-Identifier: Apache-2.0
"""A source that connects can be stopped, though FFmpeg asks nobody while it looks for a name."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import av
import pytest

import samebytes.elements as el
from samebytes.errors import ElementError
from samebytes_ffmpeg import FFmpegSource

SDP = """v=0
o=- 0 0 IN IP4 127.0.0.1
s=x
c=IN IP4 127.0.0.1
t=0 0
m=video {} RTP/AVP 96
a=rtpmap:96 H264/90000
"""


def test_a_source_that_connects_again_without_an_end_is_stopped(
    clip: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answered = threading.Event(), threading.Event()
    first: list[None] = []
    really_open = av.open

    def opened(*arguments: Any, **options: Any) -> Any:
        if not first:
            first.append(None)
            return really_open(*arguments, **options)
        asked.set()
        answered.wait(60)
        raise av.error.OSError(5, "the name was not found")

    monkeypatch.setattr(av, "open", opened)
    before = set(threading.enumerate())
    source = FFmpegSource(clip, live=True, pause=0.0)
    with el.Pipeline(source).start(queue=100) as out:
        next(out)
        assert asked.wait(20)
    assert out.stopped
    assert not source.run_failed
    left = set(threading.enumerate()) - before
    assert len(left) == 1, "only what asks for the name is left"
    answered.set()
    for thread in left:
        thread.join(20)
        assert not thread.is_alive()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def late_camera(port: int, clip: bytes, after: float) -> Iterator[None]:
    """One that listens only after some seconds."""

    def serve() -> None:
        time.sleep(after)
        with socket.create_server(("127.0.0.1", port)) as server:
            connection = server.accept()[0]
            with connection, suppress(OSError):
                connection.sendall(clip)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield
    thread.join(20)
    assert not thread.is_alive()


def test_a_camera_that_is_switched_on_later(
    clip: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its first connection is tried again as later ones are, while the elements negotiate."""
    caplog.set_level("INFO", "samebytes.ffmpeg")
    sent = tmp_path / "sent.ts"
    el.Pipeline(FFmpegSource(clip, frames=20), el.create("ffmpeg.sink", sent)).run()
    port = free_port()
    with late_camera(port, sent.read_bytes(), 0.5):
        source = FFmpegSource(
            f"tcp://me:hunter2@127.0.0.1:{port}", live=True, reconnect=500, pause=0.05, frames=10
        )
        assert el.Pipeline(source).run().of("ffmpeg.source").frames_out == 10
    away, back = (one.getMessage() for one in caplog.records if one.name == "samebytes.ffmpeg")
    assert away.startswith("ffmpeg.source: no connection to tcp://...@127.0.0.1:")
    assert "nothing listens at this address; attempt 1 of 500 follows in 0.1 s" in away
    assert back.startswith("ffmpeg.source: connected after ")


def test_the_first_connection_is_given_up_after_as_many_attempts() -> None:
    source = FFmpegSource(f"tcp://127.0.0.1:{free_port()}", live=True, reconnect=3, pause=0.01)
    with pytest.raises(ElementError, match=r"4 attempts to connect failed, .*nothing listens"):
        el.Pipeline(source).run()


@pytest.mark.parametrize(
    ("url", "words"), [("nothing://x", "no protocol"), ("no/such/file.mp4", "no such file")]
)
def test_what_no_attempt_helps_is_said_at_once(url: str, words: str) -> None:
    began = time.monotonic()
    with pytest.raises(ElementError, match=words):
        el.Pipeline(FFmpegSource(url, live=True, reconnect=5, pause=30)).run()
    assert time.monotonic() - began < 20


@pytest.mark.usefixtures("default_signals")
def test_ctrl_c_between_first_attempts() -> None:
    source = FFmpegSource(f"tcp://127.0.0.1:{free_port()}", live=True, pause=30)
    timer = threading.Timer(0.5, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        el.Pipeline(source).run()
    assert time.monotonic() - began < 15
    timer.join()


@pytest.mark.parametrize(
    "text",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:{}/a.ts\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile http://127.0.0.1:{}/a.ts\n",
        SDP,
        f"SDP:\n{SDP}",  # as FFmpeg's program prints it
    ],
    ids=["hls", "ffconcat", "sdp", "printed-sdp"],
)
def test_a_file_that_says_where_the_data_is(text: str, tmp_path: Path) -> None:
    """A connection that it names has a time-out, and can be stopped, as one of an address."""
    options = {"protocol_whitelist": "file,http,tcp,udp,rtp", "safe": "0"}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        named = tmp_path / "list.m3u8"  # FFmpeg asks for the ending
        named.write_text(text.format(silent.getsockname()[1]))
        source = FFmpegSource(named, timeout=0.3, options=options)
        with pytest.raises(ElementError, match=r"no data came for 0\.3 s"):
            el.Pipeline(source).run()
        source = FFmpegSource(named, timeout=600, options=options)
        stop = threading.Timer(0.3, source.interrupt)
        stop.start()
        with suppress(ElementError):
            el.Pipeline(source).run()
        stop.join()
        with pytest.raises(ElementError, match=r"options=\{'protocol_whitelist': 'file,http,tcp"):
            el.Pipeline(FFmpegSource(named, timeout=0.3)).run()


def test_a_segment_that_does_not_come_is_not_the_end(clip: Path, tmp_path: Path) -> None:
    """FFmpeg leaves it out, and ends where it is the last one."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        far = f"http://127.0.0.1:{silent.getsockname()[1]}/more.mp4"
        named = tmp_path / "made.m3u8"
        named.write_text(
            "#EXTM3U\n#EXT-X-TARGETDURATION:9\n"
            f"#EXTINF:9,\n{clip}\n#EXTINF:9,\n{far}\n#EXT-X-ENDLIST\n"
        )
        source = FFmpegSource(named, timeout=0.3, options={"protocol_whitelist": "file,http,tcp"})
        with pytest.raises(ElementError, match=r"decode it: no data came for 0\.3 s"):
            el.Pipeline(source).run()


class _Folder(SimpleHTTPRequestHandler):
    """A server of one folder."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Lengthless(_Folder):
    """One that does not say how long a file is."""

    def send_header(self, keyword: str, value: str) -> None:
        """Leave it out."""
        if keyword != "Content-Length":
            super().send_header(keyword, value)


def test_a_connection_that_ends_without_a_length(clip: Path) -> None:
    """FFmpeg's error is the one of a host that is not found."""
    made = clip.with_name("made.ts")
    el.Pipeline(FFmpegSource(clip), el.create("ffmpeg.sink", made)).run()
    served = partial(_Lengthless, directory=made.parent)
    with ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/made.ts"
        try:
            with pytest.raises(ElementError, match="the server ended it without having said") as it:
                el.Pipeline(FFmpegSource(url)).run()
        finally:
            server.shutdown()
    assert "host" not in str(it.value)


@pytest.mark.parametrize("far", [False, True], ids=["file", "address"])
def test_a_playlist_that_grows(far: bool, tmp_path: Path) -> None:
    """While the next segment is made nothing comes, for longer than the time-out."""
    for name in ("a.ts", "b.ts"):
        with av.open(str(tmp_path / name), "w") as made:
            stream = made.add_stream("mpeg2video", rate=25)
            stream.width = stream.height = 64
            stream.pix_fmt = "yuv420p"
            for _ in range(5):
                made.mux(stream.encode(av.VideoFrame(64, 64, "yuv420p")))
            made.mux(stream.encode(None))
    named = tmp_path / "live.m3u8"

    def grow(segments: str, end: str = "") -> None:
        more = tmp_path / "next"
        listed = "".join(f"#EXTINF:1,\n{name}.ts\n" for name in segments)
        more.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n{listed}{end}")
        more.replace(named)

    grow("a")
    growing = threading.Timer(2, grow, ["ab", "#EXT-X-ENDLIST\n"])
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Folder, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/live.m3u8?user=me" if far else str(named)
        growing.start()
        pipeline = el.Pipeline(FFmpegSource(url, timeout=0.5))
        try:
            assert pipeline.run().of("ffmpeg.source").frames_out == 10
        finally:
            growing.join()
            server.shutdown()


def test_a_list_of_files(clip: Path, tmp_path: Path) -> None:
    made = tmp_path / "list"
    made.write_text(f"ffconcat version 1.0\nfile {clip}\nfile {clip}\n")
    with pytest.raises(ElementError, match="of ffconcat 'safe': '0' for other folders"):
        el.Pipeline(FFmpegSource(made)).run()
    one, both = (
        el.Pipeline(FFmpegSource(url, options={"safe": "0"})).run().of("ffmpeg.source").frames_out
        for url in (clip, made)
    )
    assert both == 2 * one


def test_a_list_that_this_ffmpeg_does_not_read(tmp_path: Path) -> None:
    """No option helps there. That of PyAV's wheels is one."""
    said = "this FFmpeg cannot read its format, dash$"
    with suppress(ValueError):
        av.ContainerFormat("dash", "r")
        said = "It says where the data is"
    made = tmp_path / "made.mpd"
    made.write_text('<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"></MPD>\n')
    with pytest.raises(ElementError, match=said):
        el.Pipeline(FFmpegSource(made)).run()


@pytest.mark.parametrize("ending", ["avi", "flv", "m3u8", "mkv", "mp4", "ts"])
def test_a_start_behind_the_end_gives_nothing(ending: str, clip: Path, tmp_path: Path) -> None:
    made = tmp_path / f"made.{ending}"
    codec = {"flv": "flv", "m3u8": "mpeg2video"}.get(ending, "mpeg4")
    el.Pipeline(FFmpegSource(clip, frames=20), el.create("ffmpeg.sink", made, codec=codec)).run()
    assert el.Pipeline(FFmpegSource(made, start=100)).run().of("ffmpeg.source").frames_out == 0


@pytest.mark.parametrize("ending", ["mkv", "mp4"])
def test_a_file_says_how_many_frames_there_are(ending: str, clip: Path, tmp_path: Path) -> None:
    made = tmp_path / f"made.{ending}"
    el.Pipeline(FFmpegSource(clip), el.create("ffmpeg.sink", made, codec="mpeg4")).run()
    expected: dict[str, dict[str, Any]] = {
        "48": {}, "24": {"start": 0.8}, "7": {"frames": 7}, "None": {"loop": True},
    }  # fmt: skip
    for count, parameters in expected.items():
        with el.Pipeline(FFmpegSource(made, **parameters)).start(threads=0) as out:
            assert str(out.progress().frames_expected) == count


def test_what_waits_for_a_silent_camera_ends_with_the_run(clip: Path, tmp_path: Path) -> None:
    """Not only after its time-out: no thread and no connection is left."""
    sent = tmp_path / "sent.ts"
    el.Pipeline(FFmpegSource(clip), el.create("ffmpeg.sink", sent)).run()
    before = set(threading.enumerate())
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as camera:
        accepted = camera.submit(server.accept)
        camera.submit(lambda: accepted.result()[0].sendall(sent.read_bytes()))
        url = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        source = FFmpegSource(url, live=True, timeout=600, options={"analyzeduration": "100000"})
        with el.Pipeline(source).start(queue=100) as out:
            next(out)
            time.sleep(0.1)  # it has read all that there is, and waits
        with accepted.result()[0] as connection:
            connection.settimeout(20)
            with suppress(ConnectionResetError):
                assert not connection.recv(1)
    for thread in set(threading.enumerate()) - before:
        thread.join(20)
        assert not thread.is_alive()
