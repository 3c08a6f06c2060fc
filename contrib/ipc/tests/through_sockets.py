# SPDX-License-Identifier: Apache-2.0
"""Objects that were sent through a socket, as the other end receives them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

from samebytes import Frame
from samebytes_dma import DMATensor
from samebytes_ipc import receive, send

MakeMemfd = Callable[..., int]
Sockets = tuple[socket.socket, socket.socket]
Y_TILED = 0x0100000000000002  # drm_fourcc.h: I915_FORMAT_MOD_Y_TILED


def passed(sockets: Sockets, item: DMATensor | Frame, trusted: bool = False) -> DMATensor | Frame:
    """Send an item, and return what the other end gets of it."""
    send(sockets[0], item)
    return receive(sockets[1], trusted=trusted)


def passed_tensor(sockets: Sockets, item: DMATensor, trusted: bool = False) -> DMATensor:
    """The same where it is a tensor."""
    got = passed(sockets, item, trusted)
    assert isinstance(got, DMATensor)
    return got


def passed_frame(sockets: Sockets, item: Frame, trusted: bool = False) -> Frame:
    """The same where it is a frame."""
    got = passed(sockets, item, trusted)
    assert isinstance(got, Frame)
    return got


def same_memory(first: int, second: int) -> bool:
    """True if two descriptors are different numbers for the same memory."""
    return first != second and os.path.sameopenfile(first, second)
