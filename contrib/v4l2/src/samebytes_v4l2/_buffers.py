# SPDX-License-Identifier: Apache-2.0
"""The buffers of a stream: memory that the driver and this process share, in three ways."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from samebytes import Fd, TensorInfo
from samebytes.errors import AccessError, LayoutError, NativeError, UnsupportedObjectError
from samebytes.plugins import file_identity
from samebytes_dma import DMABuffer, DMAContext, DMAPlane, KeptMapping

from . import _abi
from ._device import Device
from ._formats import Layout

__all__ = ["IO", "MEMORY", "Buffer", "exported", "imported", "pointed", "release"]

IO = Literal["mmap", "dmabuf", "userptr"]
"""The memory that the camera fills: its driver's, DMA-BUFs of others, or pages of this process."""

MEMORY: dict[IO, int] = {
    "mmap": _abi.V4L2_MEMORY_MMAP,
    "dmabuf": _abi.V4L2_MEMORY_DMABUF,
    "userptr": _abi.V4L2_MEMORY_USERPTR,
}
"""V4L2's numbers for them."""


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """One buffer of the driver's queue.

    Attributes:
        index: its number in the queue.
        memory: V4L2_MEMORY_*.
        place: its place in the form that the driver wants: 0, a descriptor or an address.
        dma: the memory.
        planes: the planes of a picture in it.
    """

    index: int
    memory: int
    place: int
    dma: DMABuffer
    planes: tuple[DMAPlane, ...]

    def asked(self) -> _abi.v4l2_buffer:
        """The argument that gives it to the driver."""
        made = _abi.v4l2_buffer(
            index=self.index, type=_abi.V4L2_BUF_TYPE_VIDEO_CAPTURE, memory=self.memory,
            length=self.dma.size,
        )  # fmt: skip
        if self.memory == _abi.V4L2_MEMORY_DMABUF:
            made.m.fd = self.place
        elif self.memory == _abi.V4L2_MEMORY_USERPTR:
            made.m.userptr = self.place
        return made


def exported(device: Device, layout: Layout, count: int) -> list[Buffer]:
    """Buffers of the driver's, each exported once as a DMA-BUF.

    Args:
        device: the camera, with its format set.
        layout: the layout of that format.
        count: the number of buffers; the driver may make more or fewer.

    Raises:
        BusyError: something else has the camera's buffers.
        UnsupportedObjectError: the driver does not export its memory.
        NativeError: it refuses otherwise.
        LayoutError: a picture of that layout does not fit into its buffers.
    """
    made = []
    for index in range(_requested(device, count, _abi.V4L2_MEMORY_MMAP)):
        about = _abi.v4l2_exportbuffer(
            type=_abi.V4L2_BUF_TYPE_VIDEO_CAPTURE, index=index, flags=os.O_RDWR | os.O_CLOEXEC
        )
        if not device.has("VIDIOC_EXPBUF", about):
            raise UnsupportedObjectError(
                f"{device.driver}, the driver of {device.path}, does not export its buffers: use "
                'io="userptr" or io="dmabuf"'
            )
        dma = DMABuffer(Fd(about.fd), kept=KeptMapping(writable=True))
        made.append(_buffer(index, _abi.V4L2_MEMORY_MMAP, 0, dma, layout))
    return made


def imported(
    device: Device, layout: Layout, memory: DMAContext | Sequence[DMABuffer], count: int
) -> list[Buffer]:
    """DMA-BUFs of others, which the driver imports: new ones of an allocator, or those given.

    Args:
        device, layout: as for `exported`.
        memory: the context that allocates new ones; or the buffers, which stay the caller's.
        count: the number of new ones.

    Raises:
        BusyError, NativeError: as from `exported`.
        UnsupportedObjectError: the driver imports none, or the memory is not a DMA-BUF.
        AccessError: a descriptor is read-only.
        LayoutError: a buffer is too small or given twice, or they are fewer than the driver needs.
    """
    given = None if isinstance(memory, DMAContext) else list(memory)
    # Before anything is allocated: the driver may import none.
    asked = count if given is None else len(given)
    wanted = _requested(device, asked, _abi.V4L2_MEMORY_DMABUF)
    if given is None:
        assert isinstance(memory, DMAContext)
        given = [
            DMABuffer(memory.allocate_fd(layout.nbytes), kept=KeptMapping(writable=True))
            for _ in range(wanted)
        ]
    if len(given) < wanted:
        raise LayoutError(
            f"the driver of {device.path} needs {wanted} buffers at least, not {len(given)}"
        )
    if len({file_identity(dma.fileno()) for dma in given}) < len(given):
        raise LayoutError(
            "a DMA-BUF is among the buffers twice, by one descriptor or by two: the camera would "
            "fill it while a frame has it"
        )
    given = given[:wanted]  # a driver may take fewer
    for dma in given:
        if not dma.is_dma_buf:
            raise UnsupportedObjectError(
                f"a {dma.kind} is not a DMA-BUF, so no camera can fill it: this kernel may make "
                'none (`samebytes doctor dma`); use io="mmap"'
            )
        if dma.readonly:
            raise AccessError("a camera cannot fill a DMA-BUF whose descriptor is read-only")
        if dma.size < layout.nbytes:
            raise LayoutError(f"a buffer of {dma.size} bytes is too small for {layout.nbytes}")
    memory_ = _abi.V4L2_MEMORY_DMABUF
    return [_buffer(i, memory_, dma.fileno(), dma, layout) for i, dma in enumerate(given)]


def pointed(device: Device, layout: Layout, memory: DMAContext, count: int) -> list[Buffer]:
    """Pages of this process, which the driver fills by their address.

    They are those of a memfd, so that other processes can have the frames too.

    Args:
        device, layout, count: as for `exported`.
        memory: the context that allocates them.

    Raises:
        BusyError, NativeError: as from `exported`.
        UnsupportedObjectError: the driver takes no addresses.
    """
    made = []
    for index in range(_requested(device, count, _abi.V4L2_MEMORY_USERPTR)):
        kept = KeptMapping(writable=True)
        dma = DMABuffer(memory.allocate_fd(layout.nbytes), kept=kept)
        made.append(_buffer(index, _abi.V4L2_MEMORY_USERPTR, kept.of(dma).address, dma, layout))
    return made


def release(device: Device, memory: int) -> None:
    """Let the driver forget all buffers; their memory lives on with those who hold it.

    Args:
        device: the camera that they belong to.
        memory: the V4L2_MEMORY_* of the buffers.

    Raises:
        BusyError: others have the buffers; or, before Linux 5.0, the driver counts their users.
        CameraGoneError: the camera is gone, and so are they.
        NativeError: the driver refuses.
    """
    none = _abi.v4l2_requestbuffers(count=0, type=_abi.V4L2_BUF_TYPE_VIDEO_CAPTURE, memory=memory)
    device.call("VIDIOC_REQBUFS", none)


def _requested(device: Device, count: int, memory: int) -> int:
    """Ask for buffers; how many there are."""
    about = _abi.v4l2_requestbuffers(
        count=count, type=_abi.V4L2_BUF_TYPE_VIDEO_CAPTURE, memory=memory
    )
    if not device.has("VIDIOC_REQBUFS", about):
        raise UnsupportedObjectError(
            f"{device.driver}, the driver of {device.path}, has no buffers of the kind "
            f"{next(io for io, number in MEMORY.items() if number == memory)!r}: use another io"
        )
    found: int = about.count
    if not found:
        raise NativeError("VIDIOC_REQBUFS", errno.ENOMEM, f"{device.driver} made no buffers")
    return found


def _buffer(index: int, memory: int, place: int, dma: DMABuffer, layout: Layout) -> Buffer:
    planes = tuple(
        dma.plane(TensorInfo(p.dtype, p.shape, p.strides), offset=p.offset) for p in layout.planes
    )
    return Buffer(index, memory, place, dma, planes)
