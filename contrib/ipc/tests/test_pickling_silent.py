# SPDX-License-Identifier: Apache-2.0
"""Pickles while other processes of the user are connected, and ask for nothing."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest

import samebytes
from samebytes import Frame

from .both_ends import value_of

pytestmark = pytest.mark.usefixtures("nothing_stays_offered")


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
    silent: int, begun: bytes, answering: Any, offered: Callable[[], int]
) -> None:
    """However long they wait with their key, or with the rest of it."""
    answering.wait_for_keys(1e6)
    pickles = [bytes(ForkingPickler.dumps(picture(number))) for number in range(3)]
    address = answering.address
    with ExitStack() as stack:
        for _ in range(silent):
            sock = stack.enter_context(socket.socket(socket.AF_UNIX))
            sock.connect(address)
            sock.sendall(begun)
        for number, pickled in enumerate(pickles):
            check(pickle.loads(pickled), number)
    assert offered() == 0


def test_only_so_many_silent_clients_are_kept(answering: Any) -> None:
    answering.wait_for_keys(1e6)
    pickled = bytes(ForkingPickler.dumps(picture(5)))
    address = answering.address
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


def test_silent_clients_of_one_user_send_none_of_another_away(answering: Any) -> None:
    answering.wait_for_keys(1e6)
    pickled = bytes(ForkingPickler.dumps(picture(5)))
    users = [1234, *[0] * 20]
    with ExitStack() as stack:
        with answering.among(1234, lambda _: users.pop(0)):
            silent = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(21)]
            for sock in silent:
                sock.settimeout(20)
                sock.connect(answering.address)
            for sock in silent[1:5]:
                assert sock.recv(1) == b""
            assert not users
        silent[0].setblocking(False)
        with pytest.raises(BlockingIOError):
            silent[0].recv(1)
        check(pickle.loads(pickled), 5)


def test_a_silent_client_is_not_waited_for_forever(answering: Any) -> None:
    answering.wait_for_keys(0.05)
    pickled = bytes(ForkingPickler.dumps(picture(5)))
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(20)
        sock.connect(answering.address)
        assert sock.recv(1) == b""
    check(pickle.loads(pickled), 5)
