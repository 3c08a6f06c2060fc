# SPDX-License-Identifier: Apache-2.0
"""Secrets in texts, and text that is not secret."""

from __future__ import annotations

import json
import re
import resource
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from subprocess import CalledProcessError
from time import process_time
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import samebytes
from samebytes.errors import (
    ElementError,
    NativeError,
    ParameterError,
    SamebytesError,
    UnsupportedObjectError,
)
from samebytes.plugins import without_secrets, without_secrets_in

SECRET = "s3cr" + "et"


def _no_spaces(text: str) -> str:
    return text.replace(" ", "")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"")


def _escaped_bare(text: str) -> str:
    """As gst-launch wants a value without quotes around it."""
    return "".join(f"\\{one}" if one in " \\\"'" else one for one in text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rtsp://admin:{}@10.0.0.2:554/live", "rtsp://...@10.0.0.2:554/live"),
        ("rtsp://admin:a@b/{}@10.0.0.2/live", "rtsp://...@10.0.0.2/live"),
        ("rtsp://:{}@camera", "rtsp://...@camera"),
        ("'http:/admin:{}@camera/x'", "'http:/...@camera/x'"),
        ("/home/me/admin:{}@camera", "/home/me/...@camera"),
        ("cannot open admin:{}@camera/live", "cannot open ...@camera/live"),
        ("http://camera/x?token={}&size=2", "http://camera/x?token=...&size=2"),
        ("http://c/x?a=1&api_key={}, pts 3", "http://c/x?a=...&api_key=..., pts 3"),
        ("('srt://c:1?passphrase={}')", "('srt://c:1?passphrase=...')"),
        ("http://c/x?key={}#1", "http://c/x?key=..."),
        ("s3://b/x?X-Amz-Signature={}&a=b", "s3://b/x?X-Amz-Signature=...&a=..."),
        ("rtmp://a.example.com/live2/{}", "rtmp://a.example.com/live2/..."),
        ("rtmp://a.example.com/{}", "rtmp://a.example.com/..."),
        ("cannot open 'rtmp://a/{}': gone", "cannot open 'rtmp://a/...': gone"),
        ("sshpass -p {} ssh c", "sshpass -p ... ssh c"),
        ("curl -u admin:{} http://c/", "curl -u admin:... http://c/"),
        ("curl --user 'admin:{}' http://c/", "curl --user 'admin:...' http://c/"),
        ("rtspsrc user-id=me user-pw={} ! fakesink", "rtspsrc user-id=me user-pw=... ! fakesink"),
        ('rtspsrc user-pw="a {} b" ! x', "rtspsrc user-pw=... ! x"),
        ("rtspsrc user-pw = (string)'a {}' ! x", "rtspsrc user-pw = (string)... ! x"),
        ("rtspsrc user-pw=({}) ! x", "rtspsrc user-pw=... ! x"),
        ("rtmp://a/live/x playpath=({}) live=1", "rtmp://a/live/... playpath=... live=1"),
        ("http://c/user=admin&password={}&channel=1", "http://c/user=...&password=...&channel=1"),
        (
            "{'decryption_key': '{}', 'x': '1'}",
            "{'decryption_key': ..., 'x': '1'}",
        ),
        ("password = {} and more", "password = ... and more"),
        ("user-pw=...{}x", "user-pw=..."),
        ("Authorization: Basic {}\r\nHost: c", "Authorization: ...\r\nHost: c"),
        ("Camera(password='{}', size=3)", "Camera(password=..., size=3)"),
        ("rtsp://admin:a {} b@10.0.0.2:554/live", "rtsp://...@10.0.0.2:554/live"),
        ("'rtsp://me:{} x@c/a' and 'b@c'", "'rtsp://...@c/a' and 'b@c'"),
        ("/api?src=rtsp%3A%2F%2Fme%3A{}%40c%2Fx&y=1", "/api?src=...&y=..."),
        (
            "http://c/video.cgi?loginuse=me&loginpas={}",
            "http://c/video.cgi?loginuse=...&loginpas=...",
        ),
        ("http://c/x?jwt={}&n=1", "http://c/x?jwt=...&n=..."),
        ("http://c/x?sessionId={}", "http://c/x?sessionId=..."),
        ("rtmp://c/app playpath={} live=1", "rtmp://c/app playpath=... live=1"),
        ("{'Authorization': 'Basic {}', 'Host': 'c'}", "{'Authorization': ..., 'Host': 'c'}"),
        (
            'extra-headers="h,Authorization=(string)\\"Basic\\ {}\\""',
            'extra-headers="..."',
        ),
        ('a=(string)\\"b\\", pw=\\"a {}\\" c', 'a=(string)\\"b\\", pw=... c'),
        ("application/x-srtp, srtp-key=(buffer){}", "application/x-srtp, srtp-key=(buffer)..."),
        ("rtspsrc user-pw=a&{} ! x", "rtspsrc user-pw=... ! x"),
        (r"rtspsrc user-pw=my\ {} ! x", "rtspsrc user-pw=... ! x"),
        (r"'rtspsrc user-pw=my\\ {} ! x'", "'rtspsrc user-pw=... ! x'"),
        ("rtspsrc user-pw=\"it's {} ! x", "rtspsrc user-pw=..."),
        ("souphttpsrc cookies=<\"a={}\", 'b'> ! x", "souphttpsrc cookies=... ! x"),
        ("srtpenc key={} ! x", "srtpenc key=... ! x"),
        ("rtmp2sink location=rtmp://h stream={} ! x", "rtmp2sink location=rtmp://h stream=... ! x"),
        ("http://c:8080/x?mail=me:{}@d&fps=5", "http://c:8080/x?mail=...&fps=5"),
        ("rtsp://{}@camera/x", "rtsp://...@camera/x"),
        ("rtsp://{}:x-oauth-basic@camera/x", "rtsp://...@camera/x"),
        ("rtsp://me:12 {}@camera/x", "rtsp://...@camera/x"),
        ("url='rtsp://me:1/2 {}@camera/x', n=3", "url='rtsp://...@camera/x', n=3"),
        ("url='http://c/?pw=1 {}', n=3", "url='http://c/?pw=...', n=3"),
        ("srt://c:1?streamid=read:cam:me:{}&mode=caller", "srt://c:1?streamid=...&mode=caller"),
        ("srt://c?streamid=#!::r=live,u=me,s={}", "srt://c?streamid=..."),
        ("http://c/?channel=1&{}", "http://c/?channel=1&..."),
        ("http://c/?{}==", "http://c/?..."),
        ("http://c/?pass%77ord={}&fps=5", "http://c/?pass%77ord=...&fps=5"),
        ("http://c/?url=rtsp%253A%252F%252Fme%253A{}%2540h", "http://c/?url=..."),
        ("http://c/p/rtsp%253A%252F%252Fme%253A{}%2540h", "http://c/p/rtsp%253A%252F%252F...@h"),
        ("rtsp://c/me:{}/ch1", "rtsp://c/me:.../ch1"),
        ("http://c/a;jsessionid={}?fps=5", "http://c/a;jsessionid=...?fps=5"),
        ("{'cookies': 'a={}; path=/', 'n': 1}", "{'cookies': ..., 'n': 1}"),
        (r"headers='Token: {}\r\nAccept: a/b\r\n'", r"headers='Token: ...\r\nAccept: a/b\r\n'"),
        ("{'headers': 'X-My: {}'}", "{'headers': 'X-My: ...'}"),
        ("GET /\r\nX-Auth: {}\r\nHost: c", "GET /\r\nX-Auth: ...\r\nHost: c"),
        ("srtp_out_params={} x", "srtp_out_params=... x"),
        ("the password: {} is wrong", "the password: ... is wrong"),
        ("ffmpeg -passphrase {} -i x", "ffmpeg -passphrase ... -i x"),
        (
            'property "cookies" in element "souphttpsrc0" to "a={} b"',
            'property "cookies" in element "souphttpsrc0" to ...',
        ),
        ("auth=('me', '{})') n=3", "auth=... n=3"),
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
        "filesrc location=/tmp/a.mp4 ! qtdemux name=d d.video_0 ! queue ! h264parse",
        "element 'blur' (stream 0, pts 3, radius=7): unknown image format 'NV13'",
        "keyint=25 bypass=1 compass=2 monkey=3 tokens=4 keyframes=5",
        "handle keys: cl_mem, fd",
        "12:30.mp4",
        "rtsp://10.0.0.2:554 is not there, ask me@c",
        "C:\\videos\\a.mp4",
        "x264enc key-int-max=30 bitrate=800 ! mux.video_0 pin_memory=True auth_type=basic",
        "srt://10.0.0.2:8890?mode=caller&latency=200&pkt_size=1316",
        "http://c/cgi-bin/a.cgi?channel=1&subtype=0&codec=h264&fps=12.5",
        "headers='Content-Type: video/mp4\\r\\nUser-Agent: me'",
        "video/x-raw(memory:VAMemory), format=NV12, framerate=30/1, access=rw",
        "chroma.keypoints: 5, tokenizer=bpe, design=3, author=me, spin=2, canvas=1",
        "unexpected token: '}', no key: 5 of 6",
        "https://example.org/a/b@v1.2 and git@example.org:a/b",
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
    for one in (b"rtsp://c", {"rtsp://c"}, urlsplit("rtsp://c:554/x?channel=2")):
        assert without_secrets(one) is one
    harmless = {"url": "rtsp://c", "parts": ["a", ("b", 3)], "password": None}
    assert without_secrets(harmless) is harmless


@pytest.mark.parametrize(
    "name",
    re.findall(
        r"\S+",
        """password user_pw user-pw PW api_key apikey appKey authkey decryption_keys key key_pem
    hls_key tls_psk srtp_in_params rtmp_conn rtmp_playpath streamid srt_streamid cookies
    session_id sessionId PHPSESSID accessToken X-Auth X-Api-Secret Private-Token aws-credentials
    loginpas pin
    password2 passwort auth_key sig signature post_data""",
    ),
)
def test_options_are_known_by_their_names(name: str) -> None:
    assert without_secrets({name: SECRET, "n": 1}) == {name: "...", "n": 1}
    assert without_secrets(f"x {name}={SECRET}, n=1") == f"x {name}=..., n=1"
    assert without_secrets(["run", f"--{name}", SECRET]) == ["run", f"--{name}", "..."]


@pytest.mark.parametrize(
    "name",
    re.findall(
        r"\S+",
        """keyint keyint_min key-int-max key_frame keyframes force-key-units monkey compass bypass
    pin_memory auth_type max_tokens tokens tokenizer keypoints keyboard author design spin canvas
    session_count timeout rtsp_transport user_agent srtp_in_suite password_file color-key-mode
    """,
    ),
)
def test_other_options_are_not(name: str) -> None:
    given = {name: "value"}
    assert without_secrets(given) is given
    assert without_secrets(text := f"x {name}=value, n=1") is text


def test_headers_in_containers() -> None:
    given = {"headers": {"X-My": SECRET, "Accept": "a/b"}, "extra_headers": [f"T: {SECRET}", "a"]}
    assert without_secrets(given) == {
        "headers": {"X-My": "...", "Accept": "a/b"},
        "extra_headers": ["T: ...", "..."],
    }
    assert without_secrets({"headers": f"T: {SECRET}".encode()}) == {"headers": b"T: ..."}


_PIECES = st.lists(st.sampled_from([*"aZ9&=?/:#;@%! '\"+,.\\|<(", "://", "%40"]), max_size=4)


@st.composite
def _secrets(draw: st.DrawFn) -> str:
    """A password with any sign in it; what must not be seen has a letter on both sides."""
    before, between = ("".join(draw(_PIECES)) for _ in range(2))
    return f"x{before}{SECRET}{between}{SECRET}"


FORMS: dict[str, tuple[Callable[[str], str], Callable[[str], Any]]] = {
    "option": (lambda text: text, lambda text: {"password": text}),
    "cookies": (lambda text: text, lambda text: {"cookies": text}),
    "header": (lambda text: text, lambda text: {"headers": f"Token: {text}\r\nAccept: a"}),
    "user": (lambda text: text, lambda text: {"url": f"rtsp://me:{text}@10.0.0.2:554/live"}),
    "user in a text": (_no_spaces, lambda text: f"open rtsp://me:{text}@10.0.0.2:554/live"),
    "query": (
        lambda text: text.replace("&", ""),
        lambda text: {"url": f"http://c/x?fps=1&any={text}&height=2"},
    ),
    "query in a text": (
        lambda text: _no_spaces(text).replace("&", ""),
        lambda text: f"open http://c/x?any={text}&height=2, pts 3",
    ),
    "encoded query": (quote, lambda text: f"open /x?any={text}&height=2, pts 3"),
    "streamid": (
        lambda text: _no_spaces(text).replace("&", ""),
        lambda text: f"srt://c:1?streamid=read:cam:me:{text}",
    ),
    "rtmp": (lambda text: quote(text, safe=""), lambda text: f"rtmp://c/live/{text} failed"),
    "quoted": (_escaped, lambda text: f'rtspsrc user-pw="{text}" ! fakesink'),
    "typed": (_escaped, lambda text: f'rtspsrc user-pw=(string)"{text}" ! fakesink'),
    "bare": (_escaped_bare, lambda text: f"rtspsrc user-pw={text} ! fakesink"),
    "structure": (repr, lambda text: f"Camera(password={text}, size=3)"),
    "json": (json.dumps, lambda text: f'{{"password": {text}, "size": 3}}'),
}


@pytest.mark.parametrize("form", FORMS)
@settings(deadline=None)
@given(secret=_secrets())
def test_no_part_of_any_secret_is_seen(form: str, secret: str) -> None:
    written, placed = FORMS[form]
    given = placed(written(secret))
    for one in (given, repr(given), [given], {"x": repr(given)}):
        found = without_secrets(one)
        assert SECRET not in str(found)
        assert without_secrets(found) == found
    with pytest.raises(UnsupportedObjectError, match="is a name") as refused:
        samebytes.frame(str(given))
    assert SECRET not in str(refused.value)


def test_long_texts_take_no_time() -> None:
    pieces = ["a:", "a.b", "key=", "?a=b&", "x://", "'x://", "/a:@", "(", "pw='", "pw={'", "pw=("]
    pieces += ["%3A%2F%2F", "-pw ", "\\", "rtmp2x ", "rtmp://a/", "headers='", "Cookie: ", "{", " "]
    began = process_time()
    for piece in pieces:
        without_secrets(piece * 5_000 + "@ x%40 key=")
    assert process_time() - began < 5  # a quadratic one takes more


def test_errors_of_others_and_what_led_to_them() -> None:
    url = f"rtsp://me:{SECRET}@c"
    error, cause = ValueError(1, url, (url,)), FileNotFoundError(2, "is not there", url)
    cause.add_note(f"while reading {url}")
    error.__cause__ = cause
    assert without_secrets_in(error) is error
    texts = [str(error), repr(error), str(cause), str(vars(cause))]
    assert SECRET not in " ".join(texts)
    assert "rtsp://...@c" in texts[2]


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
        SamebytesError("sshpass", "-p", SECRET),
        ParameterError("cam", "token", SECRET, "an int"),
        ParameterError("cam", "url", f"x://a:{SECRET}@c", "an int"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_ours_say_none(error: SamebytesError) -> None:
    error.add_note(f"seen at rtsp://me:{SECRET}@c")
    assert SECRET not in f"{error} {error!r} {vars(error)}"
    assert "..." in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "rtmp://a/live", "rtmp://a/", "ssh -p 22 c", "docker run -p 8080:80 c", "mkdir -p ./a/b",
        "pytest -p no:cacheprovider", "curl -u admin http://c/", "-pix_fmt yuv420p",
    ],
)  # fmt: skip
def test_options_and_applications_without_a_secret(text: str) -> None:
    assert without_secrets(text) is text
    assert without_secrets(text.split()) == text.split()


def test_arguments_of_commands() -> None:
    assert without_secrets(["sshpass", "-p", SECRET, "ssh"]) == ["sshpass", "-p", "...", "ssh"]
    assert without_secrets(["curl", "-u", f"a:{SECRET}"]) == ["curl", "-u", "a:..."]


def test_an_error_for_which_no_module_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a program has no descriptor left, and that is the error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.delitem(sys.modules, "samebytes._secrets._values", raising=False)
    error = OSError(24, "Too many open files", f"rtsp://me:{SECRET}@host/x")
    said = {"url": f"rtsp://me:{SECRET}@host/x", "password": SECRET, "threads": 3, "name": "door"}
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, hard))
    try:
        hidden = without_secrets(said)
        shown = str(without_secrets_in(error))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert hidden == {"url": "...", "password": "...", "threads": 3, "name": "door"}
    assert shown == "[Errno 24] Too many open files: '...'"
