# SPDX-License-Identifier: Apache-2.0
"""send(): a tensor or frame to another process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from samebytes import Frame
from samebytes.errors import UnsupportedObjectError

from .._context import DMAContext
from .._tensor import DMATensor
from .reading import read
from .transport import send_message
from .values import Value
from .writing import describe

if TYPE_CHECKING:
    import socket

__all__ = ["send"]


def send(sock: socket.socket, item: DMATensor | Frame) -> None:
    """Give another process the memory of a tensor or frame, which stays here as well.

    The other process gets it by `receive(sock)`: the same bytes, with shape, strides and modifier;
    of a frame also format, size, pts, regions and metadata. Both processes have the memory from
    then on, and each keeps it as long as it needs it. Nothing tells one when the other is done:
    let the receiver send a byte of its own. Flush or close a mapping to the CPU before.

    Args:
        sock: a connected Unix socket, SOCK_STREAM or SOCK_SEQPACKET, with or without a timeout.
            After a TimeoutError part of the message may be sent: close the connection.
        item: memory of "dma": map others to "dma" first. If it is read-only, so is the received
            one, but a descriptor that was opened for writing can be written by whoever has it.

    Raises:
        UnsupportedObjectError: other memory, a frame of sound, or another kind of socket.
        MessageError: metadata that is no plain data, an array without elements, or so much that
            it is no message any more. Nothing was sent.
        OSError: what the socket says (TimeoutError, BrokenPipeError ...).
    """
    if not (
        isinstance(item, DMATensor)
        or (isinstance(item, Frame) and isinstance(item.context, DMAContext))
    ):
        raise UnsupportedObjectError(
            f"{item!r} is no memory behind a descriptor: allocate it from "
            "samebytes.context('dma'), or send item.map('dma')"
        )
    described, buffers = describe(item)
    read(Value(described), len(buffers))  # what receive() would refuse is refused here
    body = json.dumps(described, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    item.wait()
    send_message(sock, body.encode(), [b.fileno() for b in buffers])
