# SPDX-License-Identifier: Apache-2.0
"""What is secret in a text, and what is not."""

from __future__ import annotations

import traceback
from pathlib import Path
from subprocess import CalledProcessError
from urllib.parse import urlsplit

import pytest

from samebytes.errors import ElementError, NativeError, ParameterError, SamebytesError
from samebytes.plugins import without_secrets, without_secrets_in

SECRET = "s3cr" + "et"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rtsp://admin:{}@10.0.0.2:554/live", "rtsp://admin:...@10.0.0.2:554/live"),
        ("rtsp://admin:a@b/{}@10.0.0.2/live", "rtsp://admin:...@10.0.0.2/live"),
        ("rtsp://:{}@camera", "rtsp://:...@camera"),
        ("'http:/admin:{}@camera/x'", "'http:/admin:...@camera/x'"),
        ("/home/me/admin:{}@camera", "/home/me/admin:...@camera"),
        ("cannot open admin:{}@camera/live", "cannot open admin:...@camera/live"),
        ("http://camera/x?token={}&size=2", "http://camera/x?token=...&size=2"),
        ("http://c/x?a=1&api_key={}, pts 3", "http://c/x?a=1&api_key=..., pts 3"),
        ("('srt://c:1?passphrase={}')", "('srt://c:1?passphrase=...')"),
        ("http://c/x?key={}#1", "http://c/x?key=..."),
        ("s3://b/x?X-Amz-Signature={}&a=b", "s3://b/x?X-Amz-Signature=...&a=b"),
        ("rtmp://a.example.com/live2/{}", "rtmp://a.example.com/live2/..."),
        ("rtspsrc user-id=me user-pw={} ! fakesink", "rtspsrc user-id=me user-pw=... ! fakesink"),
        ('rtspsrc user-pw="a {} b" ! x', "rtspsrc user-pw=... ! x"),
        ("rtspsrc user-pw = (string)'a {}' ! x", "rtspsrc user-pw = (string)... ! x"),
        ("http://c/user=admin&password={}&channel=1", "http://c/user=admin&password=...&channel=1"),
        (
            "{'decryption_key': '{}', 'x': '1'}",
            "{'decryption_key': ..., 'x': '1'}",
        ),
        ("password = {} and more", "password = ... and more"),
        ("user-pw=...{}x", "user-pw=..."),
        ("Authorization: Basic {}\r\nHost: c", "Authorization: ...\r\nHost: c"),
        ("Camera(password='{}', size=3)", "Camera(password=..., size=3)"),
        ("rtsp://admin:a {} b@10.0.0.2:554/live", "rtsp://admin:...@10.0.0.2:554/live"),
        ("'rtsp://me:{} x@c/a' and 'b@c'", "'rtsp://me:...@c/a' and 'b@c'"),
        ("/api?src=rtsp%3A%2F%2Fme%3A{}%40c%2Fx&y=1", "/api?src=rtsp%3A%2F%2Fme:...@c%2Fx&y=1"),
        (
            "http://c/video.cgi?loginuse=me&loginpas={}",
            "http://c/video.cgi?loginuse=me&loginpas=...",
        ),
        ("http://c/x?jwt={}&n=1", "http://c/x?jwt=...&n=1"),
        ("http://c/x?sessionId={}", "http://c/x?sessionId=..."),
        ("rtmp://c/app playpath={} live=1", "rtmp://c/app playpath=... live=1"),
        ("{'Authorization': 'Basic {}', 'Host': 'c'}", "{'Authorization': ..., 'Host': 'c'}"),
        (
            'extra-headers="h,Authorization=(string)\\"Basic\\ {}\\""',
            'extra-headers="h,Authorization=(string)..."',
        ),
        ('a=(string)\\"b\\", pw=\\"a {}\\" c', 'a=(string)\\"b\\", pw=... c'),
        ("application/x-srtp, srtp-key=(buffer){}", "application/x-srtp, srtp-key=(buffer)..."),
    ],
)
def test_what_is_secret_is_left_out(text: str, expected: str) -> None:
    assert without_secrets(text.replace("{}", SECRET)) == expected
    assert without_secrets(expected) is expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rtsp://10.0.0.2:554/live?channel=1&subtype=0",
        "rtsp://admin@10.0.0.2/live",
        "filesrc location=/tmp/a.mp4 ! qtdemux name=d d.video_0 ! queue ! h264parse",
        "element 'blur' (stream 0, pts 3, radius=7): unknown image format 'NV13'",
        "keyint=25 bypass=1 compass=2 monkey=3 tokens=4 keyframes=5",
        "handle keys: cl_mem, fd",
        "12:30.mp4",
        "rtsp://10.0.0.2:554 is not there, ask me@c",
        "C:\\videos\\a.mp4",
    ],
)
def test_the_rest_stays_as_it_is(text: str) -> None:
    assert without_secrets(text) is text


def test_what_is_in_containers() -> None:
    url = f"rtsp://me:{SECRET}@c"
    given = {"password": SECRET, "url": url, "urls": [url, ("x", url)], "path": Path(url), "n": 5}
    found = without_secrets(given)
    assert SECRET not in str(found)
    assert (found["n"], found["urls"][1][0], type(found["path"])) == (5, "x", type(Path()))
    others = (url.encode(), {url}, frozenset([url]), urlsplit(url), {"Authorization": SECRET})
    assert SECRET not in str([without_secrets(one) for one in others])
    assert [type(without_secrets(one)) for one in others] == [type(one) for one in others]
    for one in (b"rtsp://c", {"rtsp://c"}, urlsplit("rtsp://me@c:554/x?a=b")):
        assert without_secrets(one) is one
    harmless = {"url": "rtsp://c", "parts": ["a", ("b", 3)], "password": None}
    assert without_secrets(harmless) is harmless


def test_errors_of_others_and_what_led_to_them() -> None:
    url = f"rtsp://me:{SECRET}@c"
    error, cause = ValueError(1, url, (url,)), FileNotFoundError(2, "is not there", url)
    cause.add_note(f"while reading {url}")
    error.__cause__ = cause
    assert without_secrets_in(error) is error
    texts = [str(error), repr(error), str(cause), str(vars(cause))]
    assert SECRET not in " ".join(texts)
    assert "me:...@c" in texts[2]


URL = f"rtsp://me:{SECRET}@c"


@pytest.mark.parametrize(
    "error",
    [
        ImportError(URL, name=URL, path=URL),
        SyntaxError(URL),
        StopIteration(URL),
        SystemExit(URL),
        UnicodeEncodeError("ascii", URL, 0, 1, URL),
        UnicodeDecodeError("ascii", URL.encode(), 0, 1, "it is not"),
        CalledProcessError(1, ["ffmpeg", URL], URL.encode(), URL.encode()),
        ValueError(urlsplit(URL), {URL}),
        ExceptionGroup(URL, [ValueError(URL), ExceptionGroup(URL, [OSError(5, URL)])]),
        BaseExceptionGroup("two", [KeyboardInterrupt(URL)]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_where_errors_of_python_keep_texts(error: BaseException) -> None:
    outer = RuntimeError("camera")
    outer.__context__ = error
    assert without_secrets_in(outer) is outer
    kept = [getattr(error, name, None) for name in (*dir(type(error)), *vars(error))]
    texts = [*traceback.format_exception(outer), str(error), *map(repr, [error, *kept])]
    assert SECRET not in "\n".join(texts)


def test_errors_that_lead_to_each_other_end() -> None:
    first, second = ValueError(f"a:{SECRET}@c"), ValueError("b")
    first.__context__, second.__cause__ = second, first
    assert SECRET not in str(without_secrets_in(first))


@pytest.mark.parametrize(
    "error",
    [
        SamebytesError(f"rtsp://me:{SECRET}@c"),
        NativeError(f"open(rtsp://me:{SECRET}@c)", 5, f"http://c?token={SECRET}"),
        ElementError("cam", "fails", parameters={"password": SECRET, "url": f"x://a:{SECRET}@c"}),
        ParameterError("cam", "token", SECRET, "an int"),
        ParameterError("cam", "url", f"x://a:{SECRET}@c", "an int"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_ours_say_none(error: SamebytesError) -> None:
    error.add_note(f"seen at rtsp://me:{SECRET}@c")
    assert SECRET not in f"{error} {error!r} {vars(error)}"
    assert "..." in str(error)
