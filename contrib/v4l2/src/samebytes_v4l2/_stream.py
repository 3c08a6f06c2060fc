# SPDX-License-Identifier: Apache-2.0
"""Stream: buffers go to the driver, come back full, and go there again with their last holder."""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Sequence
from ctypes import c_int
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from samebytes import Fd, Frame, FrameMeta
from samebytes.errors import BusyError, ClosedError, NativeError, PoolTimeoutError
from samebytes.plugins import ImportCache, Lock, deferred
from samebytes_dma import DMA, DMATensor

from . import _abi
from ._buffers import Buffer, release
from ._device import Device
from ._errors import CameraGoneError, CameraTimeoutError
from ._formats import Layout

__all__ = ["CameraStatistics", "Stream", "missed", "timeout_error"]

_MICROSECOND = Fraction(1, 1_000_000)
_CLOCKS = {
    _abi.V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC: "monotonic",
    _abi.V4L2_BUF_FLAG_TIMESTAMP_COPY: "copy",
}


@dataclass(frozen=True, slots=True)
class CameraStatistics:
    """The counts of a camera since its start.

    Attributes:
        frames: the number of frames that were read.
        dropped: the number of frames that the camera lost, or took and could not store because no
            buffer was free; by its sequence numbers.
        damaged: the number of frames that the driver marked as damaged or did not fill; they are
            not given.
        buffers: the number of buffers.
        held: the number of buffers in use by frames that are still held.
    """

    frames: int
    dropped: int
    damaged: int
    buffers: int
    held: int


def missed(before: int | None, sequence: int) -> int:
    """The number of frames between two that came one after the other.

    Args:
        before: the sequence number of the earlier one; None if there is none.
        sequence: the number of the later one. Numbers have 32 bits; if they begin again, as after a
            reset of the camera, no frame is known to be missing.
    """
    if before is None:
        return 0
    between = (sequence - before - 1) & 0xFFFFFFFF
    return between if between < 1 << 31 else 0


def timeout_error(path: str, seconds: float, counts: CameraStatistics) -> CameraTimeoutError:
    """The error for a wait in vain for a camera that has a buffer to fill.

    Args:
        path: the path of the camera's node.
        seconds: the length of the wait.
        counts: the counts of the stream.
    """
    held = damaged = ""
    if counts.held:
        held = (
            f"; {counts.held} of its {counts.buffers} buffers are held, and drivers may need "
            "several to go on"
        )
    if counts.damaged:
        damaged = f"; damaged pictures since its start, which are not given: {counts.damaged}"
    return CameraTimeoutError(f"the camera at {path} gave no frame in {seconds:g} s{held}{damaged}")


class Stream:
    """One run of a camera, from STREAMON to STREAMOFF.

    A buffer is the driver's (queued), full and nobody's (until it is read), or a frame's (held).
    It goes back in whichever thread drops the last holder of the frame.

    Args:
        device: the camera, with its format set.
        buffers: all of its buffers.
        layout: the layout of the pictures.
        rate: frames a second, if that is known.

    Raises:
        BusyError, CameraGoneError, NativeError: as from the driver's calls.
    """

    def __init__(
        self, device: Device, buffers: Sequence[Buffer], layout: Layout, rate: Fraction | None
    ) -> None:
        self._device = device
        self._buffers = tuple(buffers)
        self._count, self._memory = len(self._buffers), self._buffers[0].memory
        self._layout = layout
        self._nbytes = max(plane.offset + plane.span for plane in layout.planes)
        self._metadata = dict(layout.metadata)
        if rate:
            self._metadata["duration"] = 1 / rate
        self._lock = Lock()
        self._held: set[int] = set()
        self._sequence: int | None = None
        self._frames = self._dropped = self._damaged = 0
        self._interrupted = False
        self._wakes = Fd(os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK))
        self._poll = select.poll()
        self._poll.register(device.fd.fileno(), select.POLLIN)
        self._poll.register(self._wakes.fileno(), select.POLLIN)
        self._runs = True
        for buffer in self._buffers:
            device.call("VIDIOC_QBUF", buffer.asked())
        device.call("VIDIOC_STREAMON", c_int(_abi.V4L2_BUF_TYPE_VIDEO_CAPTURE))

    @property
    def statistics(self) -> CameraStatistics:
        """The counts so far."""
        return CameraStatistics(
            self._frames, self._dropped, self._damaged, self._count, len(self._held)
        )

    def read(self, seconds: float) -> Frame[DMATensor] | None:
        """The next frame; None after interrupt().

        Raises:
            PoolTimeoutError: all buffers were held, and none came back in time.
            CameraTimeoutError: the camera gave nothing in time.
            CameraGoneError: it is gone.
            NativeError: its driver failed.
            ClosedError: the stream was stopped.
        """
        until = time.monotonic() + seconds
        failing = False
        while True:
            if self._interrupted:
                return None
            if not self._runs:
                raise ClosedError(f"the camera at {self._device.path} was stopped")
            damaged = self._damaged
            with deferred():  # no exception comes between the driver's answer and the frame
                frame = self._next()
            if frame is not None:
                return frame
            if failing and self._damaged == damaged:
                raise NativeError("poll", 0, f"the driver of {self._device.path} reports an error")
            left = until - time.monotonic()
            if left <= 0:
                raise self._timeout_error(seconds)
            # With all buffers held the driver's queue is empty, and poll() goes on waiting.
            failing = any(
                events & (select.POLLERR | select.POLLHUP)
                for _, events in self._poll.poll(max(left * 1000, 1))
            )

    def _timeout_error(self, seconds: float) -> PoolTimeoutError | CameraTimeoutError:
        path, counts = self._device.path, self.statistics
        if counts.held < counts.buffers:
            return timeout_error(path, seconds, counts)
        return PoolTimeoutError(
            f"camera {path}",
            f"all {counts.buffers} of its buffers are held, and none came back in {seconds:g} s: "
            "drop frames and arrays that the program keeps, copy them, or start it with more "
            "buffers",
        )

    def interrupt(self) -> None:
        """Make a waiting read return None, and all later ones. Any thread may call it."""
        self._interrupted = True
        if self._device.is_of_this_process:  # a child that was forked shares the eventfd
            os.eventfd_write(self._wakes.fileno(), 1)

    def stop(self) -> None:
        """Take all buffers back. Frames that are held stay as they are; other memory is freed."""
        with self._lock:  # from here on nothing is queued, nor being queued
            runs, self._runs = self._runs, False
        try:
            if runs and self._device.is_of_this_process:
                self._device.call("VIDIOC_STREAMOFF", c_int(_abi.V4L2_BUF_TYPE_VIDEO_CAPTURE))
                release(self._device, self._memory)
        except CameraGoneError:
            pass  # with all that it had
        except BusyError:
            pass  # before Linux 5.0, held frames keep buffers; the next start() raises it
        finally:
            self._buffers = ()  # a held frame holds the stream

    def _next(self) -> Frame[DMATensor] | None:
        """A full buffer as a frame; None if there is none, or a damaged picture was in it."""
        found = _abi.v4l2_buffer(type=_abi.V4L2_BUF_TYPE_VIDEO_CAPTURE, memory=self._memory)
        try:
            _abi.ioctl(self._device.fd.fileno(), _abi.VIDIOC_DQBUF, found)
        except BlockingIOError:
            return None
        except OSError as error:
            raise self._failed(error) from error
        buffer = self._buffers[found.index]
        self._held.add(buffer.index)
        memory = buffer.dma.storage
        use = ImportCache.Lease(partial(self._give_back, buffer), nbytes=memory.nbytes, keep=memory)
        lost = missed(self._sequence, found.sequence)
        self._sequence = found.sequence
        self._dropped += lost
        # Drivers that do not count the bytes leave 0.
        if found.flags & _abi.V4L2_BUF_FLAG_ERROR or 0 < found.bytesused < self._nbytes:
            self._damaged += 1
            return None  # which gives it back
        self._frames += 1
        lent = buffer.dma.lent(use, readonly=False)
        planes = tuple([plane.moved_to(lent) for plane in buffer.planes])
        return Frame.borrowed(planes, DMA, self._meta(found, lost), keep=use)

    def _meta(self, found: _abi.v4l2_buffer, lost: int) -> FrameMeta:
        pts = found.timestamp.tv_sec * 1_000_000 + found.timestamp.tv_usec
        clock = _CLOCKS.get(found.flags & _abi.V4L2_BUF_FLAG_TIMESTAMP_MASK, "unknown")
        metadata: dict[str, Any] = dict(self._metadata)
        metadata["v4l2"] = {
            "sequence": found.sequence, "dropped": lost, "clock": clock, "timestamp": pts,
        }  # fmt: skip
        return FrameMeta(self._layout.image, pts, _MICROSECOND, metadata)

    def _give_back(self, buffer: Buffer) -> None:
        """Queue a buffer again, since nothing holds its frame any more.

        The lock keeps a buffer of a stream that has stopped out of the queue of the next one. So it
        is held over this one call, which waits for no other thread of the process; stop() makes
        its own calls, which may take long, without it, so that dropping a frame never waits for it.
        No driver of a camera waits for a GPU that still reads the buffer: its fences are awaited
        here, before the lock.
        """
        if not self._device.is_of_this_process:
            return
        if self._runs and (wait := buffer.dma.storage.wait) is not None:
            wait()
        with self._lock:
            if not self._runs:
                return
            self._held.discard(buffer.index)
            try:
                self._device.call("VIDIOC_QBUF", buffer.asked())
            except CameraGoneError:
                pass  # the next read() raises it
            except NativeError as error:
                if error.code != errno.EIO:  # of a stream that has failed, as above
                    raise

    def _failed(self, error: OSError) -> Exception:
        if error.errno == errno.EIO:
            return NativeError(
                "VIDIOC_DQBUF",
                errno.EIO,
                f"the stream of {self._device.path} has failed, by its driver: no signal, or a bad "
                "connection; stop() the camera and start() it again",
            )
        return self._device.error("VIDIOC_DQBUF", error)
