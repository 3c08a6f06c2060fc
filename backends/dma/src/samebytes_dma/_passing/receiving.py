# SPDX-License-Identifier: Apache-2.0
"""receive(): a tensor or frame of another process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes import Fd, Frame

from .._buffer import DMABuffer
from .._context import DMA
from .._plane import DMAPlane
from .._tensor import DMATensor
from .._wrapping import frame_with
from .description import Description
from .errors import named
from .reading import read
from .strangers import check_stranger
from .transport import receive_message
from .values import parse

if TYPE_CHECKING:
    import socket

__all__ = ["receive"]


def receive(sock: socket.socket, *, trusted: bool = False) -> DMATensor | Frame:
    """The next tensor or frame that another process sends.

    Everything that comes is checked before it is used, and what is refused is closed. The memory
    is shared: its bytes may change at any time, so copy what you check before you act upon it.

    Args:
        sock: a connected Unix socket, SOCK_STREAM or SOCK_SEQPACKET, with or without a timeout.
            After a TimeoutError part of a message may be lost: close the connection.
        trusted: take files, and memfds that are not sealed against shrinking. If the other side
            cuts one short, reading it ends this process (SIGBUS).

    Returns:
        A tensor or frame of "dma", which owns the descriptors. It is read-only if the sender's
        was, or if a descriptor is open for reading alone.

    Raises:
        EndOfStreamError: the other side closed the connection.
        MessageError: it sent something else, or something that cannot be; `field` says what.
        UnsupportedObjectError: another kind of socket.
        OSError: what the socket says (TimeoutError, ConnectionResetError ...).
    """
    body, fds = receive_message(sock)
    try:
        description = read(parse(body), len(fds))
        buffers = [_buffer(fd, f"descriptors[{i}]", trusted) for i, fd in enumerate(fds)]
        return _build(description, buffers)
    except BaseException:
        for fd in fds:
            fd.close()
        raise


def _buffer(fd: Fd, field: str, trusted: bool) -> DMABuffer:
    with named(field):
        if not trusted:
            check_stranger(fd)
        return DMABuffer(fd)


def _build(description: Description, buffers: list[DMABuffer]) -> DMATensor | Frame:
    meta = description.meta
    planes = []
    for i, plane in enumerate(description.planes):
        with named("tensor" if meta is None else f"frame.planes[{i}]"):
            planes.append(
                DMAPlane(buffers[plane.buffer], plane.info, plane.offset, plane.pitch,
                         plane.modifier)
            )  # fmt: skip
    if meta is None:
        (native,) = planes
        readonly = native.buffer.readonly or description.readonly
        return DMATensor(native, DMA, native.buffer.storage, None, readonly)
    with named("frame.planes"):
        return frame_with(planes, meta, readonly=description.readonly)
