# SPDX-License-Identifier: Apache-2.0
"""send() and receive(): tensors and frames between processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes import Frame, Tensor
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import HostContext
from samebytes_dma import DMABuffer, DMATensor, frame_with_meta

from ._sockets.transport import receive_message, send_message
from ._wire.describing import describe, read
from ._wire.memory import buffer_behind, is_dma, plane_in, tensor_over
from ._wire.message import Description, named
from ._wire.values import Value, encoded, parse

if TYPE_CHECKING:
    import socket

__all__ = ["prepared", "receive", "send"]


def send(sock: socket.socket, item: DMATensor | Frame, *, copy: bool = False) -> None:
    """Give another process the memory of a tensor or frame, which stays here as well.

    The other process gets it by `receive(sock)`: the same bytes, with shape, strides and modifier;
    of a frame also format, size, pts, regions and metadata, typed entries included. Both processes
    have the memory from then on, and each keeps it as long as it needs it. Neither knows when the
    other is done: let the receiver send a byte of its own. Flush or close a mapping to the CPU
    first.

    Args:
        sock: a connected Unix socket, SOCK_STREAM or SOCK_SEQPACKET, with or without a timeout.
            After a TimeoutError part of the message may be sent: close the connection.
        item: memory of "dma"; map other memory to "dma" first. If it is read-only, so is what is
            received, but whoever has a descriptor that was opened for writing can write to it.
        copy: write those tensors of inference results into the message that lie in other memory
            than "dma". This is counted in `samebytes.stats()`, and there is room for about 45 KiB.

    Raises:
        CopyRequiredError: there is such a tensor, and copy=True was not given.
        UnsupportedObjectError: other memory, a frame of sound, or another kind of socket.
        MessageError: metadata that is not plain data, an array without elements, or more than
            fits into a message. Nothing was sent.
        OSError: raised by the socket (TimeoutError, BrokenPipeError ...).
    """
    body, buffers = prepared(item, copy)
    item.wait()
    send_message(sock, body, [b.fileno() for b in buffers])


def prepared(item: DMATensor | Frame, copy: bool) -> tuple[bytes, list[DMABuffer]]:
    """The description of a tensor or frame, and the buffers whose descriptors go with it.

    Raises:
        CopyRequiredError, UnsupportedObjectError, MessageError: as for send().
    """
    if not is_dma(item):
        if isinstance(item, Tensor | Frame) and not isinstance(item.context, HostContext):
            raise UnsupportedObjectError(
                f"{item!r} has no file descriptor yet: send item.map('dma'), or copy it if "
                "samebytes.route(item, 'dma') finds no route: RingWriter.send(item, copy=True) to "
                "a ring, or samebytes.copied(item) through a multiprocessing queue"
            )
        raise UnsupportedObjectError(
            f"{item!r} has no file descriptor, which memory of one process cannot get: allocate it "
            "from samebytes.context('dma'), or copy it: RingWriter.send(item, copy=True) to a "
            "ring, or samebytes.copied(item) through a multiprocessing queue"
        )
    described, buffers = describe(item, copy)
    # What receive() would refuse is refused here.
    read(Value(described), len(buffers), lambda plane, readonly: None)
    return encoded(described), buffers


def receive(sock: socket.socket, *, trusted: bool = False) -> DMATensor | Frame:
    """The next tensor or frame that another process sends.

    Everything that comes is checked before it is used; descriptors that are refused are closed.
    The memory is shared: its bytes may change at any time, so copy what you check before you act
    upon it.

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
        MessageError: it sent something else, or an invalid message; `field` says what.
        UnsupportedObjectError: another kind of socket.
        OSError: raised by the socket (TimeoutError, ConnectionResetError ...).
    """
    body, fds = receive_message(sock)
    try:
        value = parse(body)
        buffers = [buffer_behind(fd, f"descriptors[{i}]", trusted) for i, fd in enumerate(fds)]
        description = read(
            value, len(fds), lambda plane, readonly: tensor_over(plane_in(plane, buffers), readonly)
        )
        return _build(description, buffers)
    except BaseException:
        for fd in fds:
            fd.close()
        raise


def _build(description: Description, buffers: list[DMABuffer]) -> DMATensor | Frame:
    meta = description.meta
    planes = []
    for i, plane in enumerate(description.planes):
        with named("tensor" if meta is None else f"frame.planes[{i}]"):
            planes.append(plane_in(plane, buffers))
    if meta is None:
        return tensor_over(planes[0], description.readonly)
    with named("frame.planes"):
        return frame_with_meta(planes, meta, readonly=description.readonly)
