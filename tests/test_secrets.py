# SPDX-License-Identifier: Apache-2.0
"""No password of an address is shown by any element that takes one: in no error, repr or table."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any, get_args

import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import PluginError
from samebytes.metadata import SourceIdentifier, add, to_json

SECRET = "s3cr" + "et"
FORMS = (
    "rtsp://admin:{}@127.0.0.1:9/live",
    "http://127.0.0.1:9/live?channel=1&token={}",
    "admin:{}@127.0.0.1/live.mp4",
    "rtspsrc location=rtsp://admin:{}@127.0.0.1:9/live user-pw={} timeout=1 ! fakesink",
    'rtspsrc location=rtsp://127.0.0.1:9/live user-pw="{}" ! decodebin ! nothing password={}',
    "souphttpsrc location=http://127.0.0.1:9/?password={} ! decodebin",
    'souphttpsrc location=http://127.0.0.1:9/ cookies="a={}" ! nothing',
    "rtspsrc location=rtsp://127.0.0.1:9/ user-id=a user-pw=a&{} ! nothing",
    r"rtspsrc location=rtsp://127.0.0.1:9/ user-id=a user-pw=my\ {} ! nothing",
    "rtsp://{}@127.0.0.1:9/live",
    "srt://127.0.0.1:9?streamid=read:cam:user:{}",
    "http://127.0.0.1:9/?userpass=admin:{}&pas={}",
)
OPTIONS = {
    "password": SECRET,
    "headers": f"Authorization: Basic {SECRET}\r\nX-My: {SECRET}\r\n",
    "cookies": f"session={SECRET}; path=/",
    "key": SECRET,
    "decryption_keys": f"1={SECRET}",
    "srtp_out_params": SECRET,
}
QUICK = {"timeout": 0.5, "reconnect": 1, "pause": 0.0}


def _takes_text(kind: Any) -> bool:
    return any(one is str or one is Path for one in (kind, *get_args(kind)))


def _cases() -> list[tuple[str, str]]:
    """Names of elements and what they are given: an address, or a description of a pipeline."""
    return [
        (name, form)
        for name in el.available()
        for form in FORMS
        if "!" in form or not name.startswith("gstreamer.")
    ]


def _element(name: str, form: str) -> el.Element | None:
    """One whose required parameters that are texts have a secret; None: it has none."""
    try:
        known = el.element_class(name).declared_parameters()
    except PluginError as error:
        pytest.skip(f"missing package of {name}: {error}")
    texts = [one for one in known.values() if _takes_text(one.type)]
    chosen = [one for one in texts if one.required] or texts[:1]
    if not chosen or any(one.required and one not in chosen for one in known.values()):
        return None
    given: dict[str, Any] = {one.name: form.replace("{}", SECRET) for one in chosen}
    given |= {key: value for key, value in QUICK.items() if key in known}
    if "options" in known:
        given["options"] = OPTIONS
    return el.create(name, **given)


def _texts(error: BaseException) -> Iterator[str]:
    """All that a program can print of an error."""
    yield from traceback.format_exception(error)
    link: BaseException | None = error
    while link is not None:
        yield from (str(link), repr(link), repr(link.args), repr(vars(link)))
        link = link.__cause__ or link.__context__


@pytest.mark.parametrize(("name", "form"), _cases())
def test_no_element_shows_a_secret(
    name: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # json.sink takes all of them for files
    element = _element(name, form)
    if element is None:
        return
    seen = [repr(element), repr(element._takes)]
    frame = sb.context("cpu").allocate_frame("I420", 64, 48)
    items = [element] if isinstance(element, el.Source) else [[frame], element]
    options: list[dict[str, Any]] = [{}]
    if "live" in element.declared_parameters():
        options.append({"live": True})
    for changed in options:
        for key, value in changed.items():
            setattr(element, key, value)
        pipe = el.Pipeline(*items)
        seen.append(repr(pipe))
        for call in (pipe.explain, lambda pipe=pipe: str(pipe.run())):
            try:
                seen.append(call())
            except Exception as error:
                seen += _texts(error)
    assert seen
    assert SECRET not in "\n".join(seen)


def test_something_is_tried() -> None:
    """The test above is not vacuous: these elements are made with a secret, and fail with it."""
    tried = {name for name, form in _cases() if _element(name, form) is not None}
    assert tried >= {"ffmpeg.source", "ffmpeg.sink", "json.sink"}


def test_what_an_element_of_the_user_raises() -> None:
    address = FORMS[0].replace("{}", SECRET)

    def fails(_: Any) -> None:
        raise OSError(5, "cannot be reached", address) from ValueError(f"no camera at {address}")

    frame = sb.context("cpu").allocate_frame("GRAY8", 8, 8)
    for threads in (0, 1):
        with pytest.raises(sb.errors.ElementError) as caught:
            el.Pipeline([frame], fails).run(threads=threads)
        assert SECRET not in "\n".join(_texts(caught.value))


def test_no_frame_shows_a_secret() -> None:
    frame = sb.context("cpu").allocate_frame("GRAY8", 8, 8)
    identity = SourceIdentifier(uri=FORMS[0].replace("{}", SECRET))
    add(frame, identity)
    frame.metadata["tags"] = {"location": PurePath(FORMS[1].replace("{}", SECRET)).as_posix()}
    line = to_json(frame, add_empty_results=True)
    assert "//...@127.0.0.1" in line
    assert SECRET not in line + repr(identity)
