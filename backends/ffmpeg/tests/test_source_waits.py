# SPDX-License-Identifier: Apache-2.0
"""A source that connects can be stopped, though FFmpeg asks nobody while it looks for a name."""

from __future__ import annotations

import threading
from typing import Any

import av
import pytest

import samebytes.elements as el
from samebytes_ffmpeg import FFmpegSource


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
