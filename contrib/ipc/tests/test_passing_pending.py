# SPDX-License-Identifier: Apache-2.0
"""Memory that a device still writes to goes to another process when that is done, not before."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest

import samebytes
from samebytes import Frame, metadata
from samebytes_ipc import receive, send

from .both_ends import wait_until


def pending(item: Any) -> list[str]:
    """The call that is made when somebody waits for the device."""
    waits: list[str] = []
    native = item.planes[0].native if isinstance(item, Frame) else item.native
    native.buffer.storage.wait = lambda: waits.append("waited")
    return waits


def picture() -> Frame:
    return samebytes.context("dma:memfd").allocate_frame("GRAY8", 64, 16)


def by_socket(frame: Frame) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, frame)
        receive(theirs)


def by_pickle(frame: Frame) -> None:
    pickle.loads(bytes(ForkingPickler.dumps(frame)))


@pytest.mark.parametrize("way", [by_socket, by_pickle])
def test_a_frame_and_its_results_are_waited_for(
    way: Callable[[Frame], None], offered: Callable[[], int]
) -> None:
    frame, result = picture(), samebytes.context("dma:memfd").allocate((4, 8), "float32")
    metadata.add(frame, metadata.InferenceResult(result))
    of_frame, of_result = pending(frame), pending(result)
    way(frame)
    assert wait_until(lambda: not offered())
    assert of_frame
    assert of_result
