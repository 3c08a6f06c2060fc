# SPDX-License-Identifier: Apache-2.0
"""Pickles while other processes of the user are connected, and ask for nothing."""

from __future__ import annotations

import os
import pickle
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest

import samebytes
from samebytes import Frame
from samebytes_ipc._pickle import offers as module
from samebytes_ipc._pickle.offers import offers

from .both_ends import value_of


@pytest.fixture(autouse=True)
def nothing_stays_offered() -> Iterator[None]:
    """The thread that answers has ended, and has nothing any more."""
    yield
    deadline = time.monotonic() + 20
    while (len(offers) or offers._listener is not None) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert offers._listener is None


def picture(value: int) -> Frame:
    frame = samebytes.context("dma").allocate_frame("GRAY8", 64, 16)
    with frame.map("cpu", "w") as view:
        view.planes[0].native[...] = value
    return frame


def check(frame: Frame, value: int) -> None:
    assert value_of(frame) == value


@pytest.mark.parametrize("silent", [20, 60])
@pytest.mark.parametrize("begun", [b"", b"x" * 15])
def test_silent_clients_keep_nobody_from_a_pickle(
    silent: int, begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long they wait with their key, or with the rest of it."""
    monkeypatch.setattr(module, "_KEY_SECONDS", 1e6)
    pickles = [bytes(ForkingPickler.dumps(picture(number))) for number in range(3)]
    assert offers._listener is not None
    address = offers._listener.getsockname()
    with ExitStack() as stack:
        for _ in range(silent):
            sock = stack.enter_context(socket.socket(socket.AF_UNIX))
            sock.connect(address)
            sock.sendall(begun)
        for number, pickled in enumerate(pickles):
            check(pickle.loads(pickled), number)
    assert len(offers) == 0


def test_only_so_many_silent_clients_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEY_SECONDS", 1e6)
    pickled = bytes(ForkingPickler.dumps(picture(5)))
    assert offers._listener is not None
    address = offers._listener.getsockname()
    with ExitStack() as stack:
        silent = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(40)]
        for sock in silent:
            sock.settimeout(20)
            sock.connect(address)
        for sock in silent[: 40 - 16]:
            assert sock.recv(1) == b""  # the oldest go
        silent[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            silent[-1].recv(1)
        check(pickle.loads(pickled), 5)


def test_silent_clients_of_one_user_send_none_of_another_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_KEY_SECONDS", 1e6)

    class AnyUser:
        """The module os in a process that is not root's."""

        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

        def getuid(self) -> int:
            return 1234

    pickled = bytes(ForkingPickler.dumps(picture(5)))
    assert offers._listener is not None
    users = [1234, *[0] * 20]
    with ExitStack() as stack:
        with monkeypatch.context() as patch:
            patch.setattr(module, "os", AnyUser())
            patch.setattr(module, "user_of", lambda _: users.pop(0))
            silent = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(21)]
            for sock in silent:
                sock.settimeout(20)
                sock.connect(offers._listener.getsockname())
            for sock in silent[1:5]:
                assert sock.recv(1) == b""
            assert not users
        silent[0].setblocking(False)
        with pytest.raises(BlockingIOError):
            silent[0].recv(1)
        check(pickle.loads(pickled), 5)


def test_a_silent_client_is_not_waited_for_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEY_SECONDS", 0.05)
    pickled = bytes(ForkingPickler.dumps(picture(5)))
    assert offers._listener is not None
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(20)
        sock.connect(offers._listener.getsockname())
        assert sock.recv(1) == b""
    check(pickle.loads(pickled), 5)
