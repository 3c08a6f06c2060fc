# SPDX-License-Identifier: Apache-2.0
"""send() and receive(): tensors and frames between processes.

Which received descriptors may be used is decided here. Memory that somebody can cut short
under a mapping ends the process that reads it (SIGBUS). A DMA-BUF keeps its size, and so does a
memfd that is sealed against shrinking. Huge pages are not taken: their pool is small, and who
punches a hole into such a memfd gives a page back to it.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
from typing import TYPE_CHECKING

from samebytes import Fd, Frame, Tensor
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes.plugins import HostContext

from .._buffer import DMABuffer
from .._context import DMA, DMAContext
from .._descriptor import exporter_of, link_of, seals_of
from .._plane import DMAPlane
from .._tensor import DMATensor
from .._wrapping import frame_with
from .describing import describe, read
from .message import Description, PlaneDescription, named, shown
from .transport import receive_message, send_message
from .values import Value, parse

if TYPE_CHECKING:
    import socket

    from .._kept import KeptMapping

__all__ = ["buffer_behind", "plane_in", "prepared", "receive", "send", "tensor_over"]


def send(sock: socket.socket, item: DMATensor | Frame, *, copy: bool = False) -> None:
    """Give another process the memory of a tensor or frame, which stays here as well.

    The other process gets it by `receive(sock)`: the same bytes, with shape, strides and modifier;
    of a frame also format, size, pts, regions and metadata, typed entries included. Both processes
    have the memory from then on, and each keeps it as long as it needs it. Neither knows when the
    other is done: let the receiver send a byte of its own. Flush or close a mapping to the CPU
    before.

    Args:
        sock: a connected Unix socket, SOCK_STREAM or SOCK_SEQPACKET, with or without a timeout.
            After a TimeoutError part of the message may be sent: close the connection.
        item: memory of "dma": map others to "dma" first. If it is read-only, so is the received
            one, but a descriptor that was opened for writing can be written by whoever has it.
        copy: write tensors of inference results into the message that lie in other memory than
            "dma". It is counted in `samebytes.stats()`, and there is room for about 45 KiB.

    Raises:
        CopyRequiredError: there is such a tensor, and copy=True was not given.
        UnsupportedObjectError: other memory, a frame of sound, or another kind of socket.
        MessageError: metadata that is not plain data, an array without elements, or so much that
            it does not fit into a message. Nothing was sent.
        OSError: what the socket says (TimeoutError, BrokenPipeError ...).
    """
    body, buffers = prepared(item, copy)
    item.wait()
    send_message(sock, body, [b.fileno() for b in buffers])


# Made once: json.dumps() would make one for each message.
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def prepared(item: DMATensor | Frame, copy: bool) -> tuple[bytes, list[DMABuffer]]:
    """The description of a tensor or frame, and the buffers whose descriptors go with it.

    Raises:
        CopyRequiredError, UnsupportedObjectError, MessageError: as of send().
    """
    if not (
        isinstance(item, DMATensor)
        or (isinstance(item, Frame) and isinstance(item.context, DMAContext))
    ):
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
    return _encoder.encode(described).encode(), buffers


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
        MessageError: it sent something else, or an invalid message; `field` says what.
        UnsupportedObjectError: another kind of socket.
        OSError: what the socket says (TimeoutError, ConnectionResetError ...).
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


def buffer_behind(
    fd: Fd, field: str, trusted: bool, *, kept: KeptMapping | None = None
) -> DMABuffer:
    """The buffer of a descriptor that was received, which becomes the buffer's.

    Raises:
        MessageError: it is nothing that a message may have; `field` is its name.
    """
    with named(field):
        if not trusted:
            _check_untrusted(fd)
        return DMABuffer(fd, kept=kept)


def _build(description: Description, buffers: list[DMABuffer]) -> DMATensor | Frame:
    meta = description.meta
    planes = []
    for i, plane in enumerate(description.planes):
        with named("tensor" if meta is None else f"frame.planes[{i}]"):
            planes.append(plane_in(plane, buffers))
    if meta is None:
        return tensor_over(planes[0], description.readonly)
    with named("frame.planes"):
        return frame_with(planes, meta, readonly=description.readonly)


def plane_in(plane: PlaneDescription, buffers: list[DMABuffer]) -> DMAPlane:
    """The plane that a message describes, in one of its buffers.

    Raises:
        LayoutError: it does not lie there.
    """
    buffer = buffers[plane.buffer]
    return DMAPlane(buffer, plane.info, plane.offset, plane.pitch, plane.modifier)


def tensor_over(native: DMAPlane, readonly: bool) -> DMATensor:
    """A tensor that holds the buffer of its plane."""
    storage = native.buffer.storage
    readonly = native.buffer.readonly or readonly
    return DMATensor.borrowed(native, DMA, keep=storage, readonly=readonly)


def _check_untrusted(fd: Fd) -> None:
    """Refuse memory whose pages somebody can take away.

    The kernel alone answers what is asked here. A descriptor of a file system that the sender
    runs (FUSE) could let other calls wait forever, fstat() for one.

    Raises:
        LayoutError: neither a DMA-BUF nor a sealed memfd, or one of huge pages.
    """
    number = fd.fileno()
    seals = seals_of(number)
    # Only a memfd can be sealed so: files that others open by a name have F_SEAL_SEAL from the
    # beginning, and most file systems know no seals.
    if seals & fcntl.F_SEAL_SHRINK:
        _check_pages(number)
        return
    if exporter_of(number):
        return
    link = link_of(number)
    if link.startswith("/memfd:"):
        raise LayoutError(
            "is a memfd that its sender can still cut short, which would end this process: the "
            "sender must seal it, fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK); or, if "
            "you trust the sender, call receive(sock, trusted=True)"
        )
    what = shown(link) if link else "of unknown kind"
    raise LayoutError(
        f"is {what}, neither a DMA-BUF nor a memfd that is sealed against shrinking; files are "
        "taken by receive(sock, trusted=True)"
    )


def _check_pages(number: int) -> None:
    # Linux, fs/hugetlbfs/inode.c: hugetlbfs_statfs() reports the size of its pages.
    size = os.fstatvfs(number).f_bsize
    if size != mmap.PAGESIZE:
        raise LayoutError(
            f"is a memfd of huge pages ({size} bytes each), which its sender can take away, and "
            "that would end this process: the sender must make it without MFD_HUGETLB; or, if "
            "you trust the sender, call receive(sock, trusted=True)"
        )
