# SPDX-License-Identifier: Apache-2.0
"""Arguments that a ring refuses: by name, before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import LayoutError, SamebytesError, UnsupportedObjectError
from samebytes_ipc import MessageError, RingReader, RingWriter

from .both_ends import ring

SHAPES = {"axes": (1,) * 17, "extent": (1 << 31,)}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_layout_that_readers_would_refuse(shape: tuple[int, ...]) -> None:
    with pytest.raises(LayoutError, match="a ring carries at most 16 axes"):
        RingWriter(shape=shape)


def test_what_is_sent_is_what_readers_take() -> None:
    """The layout is checked both if memory is copied and if it is sent where it lies."""
    with ring() as (writer, reader):
        item = sb.tensor(np.zeros((1,) * 17, np.uint8))
        with pytest.raises(LayoutError, match="17 axes"):
            writer.send(item, copy=True)
        with pytest.raises(MessageError, match="17 items"):
            writer.send(sb.context("dma:memfd").allocate((1,) * 17))
        assert writer.statistics.accepted == 0
        writer.send(sb.context("dma:memfd").allocate((1,) * 16))
        assert reader.read().info.shape == (1,) * 16


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: RingWriter(slots="a"), LayoutError, "slots='a'"),  # type: ignore[arg-type]
        (lambda: RingWriter(shape=3), LayoutError, "got 3"),  # type: ignore[arg-type]
        (lambda: RingWriter(slots=2.5), LayoutError, "slots=2.5"),  # type: ignore[arg-type]
        (lambda: RingWriter(adopt=None), LayoutError, "adopt=None"),  # type: ignore[arg-type]
        (lambda: RingWriter(most_readers="a"), LayoutError, "most_readers='a'"),  # type: ignore[arg-type]
        (lambda: RingReader("@x", frames="a"), LayoutError, "frames='a'"),  # type: ignore[arg-type]
        (lambda: RingReader("@x", frames=0), LayoutError, "frames=0"),
        (lambda: RingReader(5), UnsupportedObjectError, "address=5"),  # type: ignore[arg-type]
        (lambda: RingWriter(5), UnsupportedObjectError, "address=5"),  # type: ignore[arg-type]
        (lambda: RingWriter(b"@y"), UnsupportedObjectError, "address=b'@y'"),  # type: ignore[arg-type]
        (lambda: RingWriter("/tmp/a\0b"), LayoutError, "NUL"),
        (lambda: RingReader("/tmp/a\0b", timeout=0), LayoutError, "NUL"),
        (lambda: RingWriter("/tmp/" + "a" * 103), LayoutError, "1 to 107 bytes"),
        (lambda: RingReader("@" + "a" * 107, timeout=0), LayoutError, "1 to 107 bytes"),
        (lambda: RingWriter(""), LayoutError, "1 to 107 bytes"),
    ],
)
def test_errors_are_of_this_project_and_name_the_argument(
    make: Callable[[], Any], error: type[SamebytesError], says: str
) -> None:
    with pytest.raises(error) as raised:
        make()
    assert says in str(raised.value)


def test_the_path_of_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"'/nowhere/ring'$"):
        RingWriter("/nowhere/ring")


def test_no_socket_and_no_number_of_readers() -> None:
    with ring() as (writer, _):
        with pytest.raises(UnsupportedObjectError, match="sock=5"):
            writer.add(5)
        with pytest.raises(LayoutError, match="readers='a'"):
            writer.wait_for_readers("a")


@pytest.mark.parametrize("time", [math.nan, "x"])
def test_a_time_that_is_not_a_number(time: Any) -> None:
    """With not-a-number a ring would wait forever."""
    with ring() as (writer, reader):
        for wait in (
            lambda: RingReader("@nobody writes here", timeout=time),
            lambda: RingReader("@nobody writes here", timeout=0, spin=time),
            lambda: RingWriter(timeout=time),
            lambda: writer.wait_for_readers(2, timeout=time),
            lambda: writer.wait_until_read(time),
            lambda: writer.serve(time),
            lambda: writer.acquire(time),
            lambda: writer.close(time),
            lambda: reader.read(time),
        ):
            with pytest.raises(ValueError, match=f"={time!r}: give the seconds to wait"):
                wait()
        assert writer.acquire(-1) is not None, (
            "a time that has passed is one to look without waiting"
        )
