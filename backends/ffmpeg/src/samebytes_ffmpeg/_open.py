# SPDX-License-Identifier: Apache-2.0
"""open(): the frames of a video in a plain loop, decoded as ffmpeg.source decodes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import samebytes
from samebytes import Frame
from samebytes.elements import FrameInfo

from ._elements._source import FFmpegSource
from ._hardware.objects import FFmpegHardwareFrame

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Video", "open"]


class Video(Iterator[Frame]):
    """The frames of a video, one after another; a `with` block closes it.

    Attributes:
        info: format, size, memory and rate; None if only the first frame has them.
        how: the way in which it is decoded, in words; "" unless a device was asked for.
    """

    def __init__(self, source: FFmpegSource, queue: Any = None) -> None:
        self._source = source
        source.work_on(queue)
        try:
            self.info: FrameInfo | None = source.negotiate(None)
        except BaseException:
            source.close()
            raise
        self.how = source.how()
        # samebytes.frame() would look for the same function at each frame.
        on_device = self.info is not None and self.info.memory != "ffmpeg"
        self._wrap: Callable[[Any], Frame] = (
            FFmpegHardwareFrame.wrap if on_device else samebytes.frame
        )

    def __next__(self) -> Frame:
        native = self._source.read()
        if native is None:
            raise StopIteration
        return self._wrap(native)

    def interrupt(self) -> None:
        """End a read that waits for data, from another thread: the loop then ends."""
        self._source.interrupt()

    def close(self) -> None:
        """Close the file and the decoder. Frames that were given stay valid."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()


def open(url: Path | str, *, queue: Any = None, **parameters: Any) -> Video:
    """Open a video, to loop over its frames.

        with samebytes_ffmpeg.open("video.mp4", hwaccel="cuda") as video:
            for frame in video:
                luma = torch.from_dlpack(frame[0])

    Args:
        url: a file, or what FFmpeg opens.
        queue: with hwaccel="cuda", a stream of torch, CuPy, Numba or cuda.core, or its handle, on
            which the frames will be used. FFmpeg makes them there, so nothing has to be ordered,
            neither before their use nor before FFmpeg's next use of the memory. That is faster if
            several videos are decoded at a time. The stream is held until the process ends. By
            default each video has a stream of its own.
        parameters: those of `FFmpegSource`. With hwaccel="auto" it is decoded in software, as
            nothing shows where the frames go: ask for the device.

    Returns:
        The video, which is iterated once and closed by a `with` block.

    Raises:
        DeviceMismatchError: the stream belongs to another context than the primary one of the GPU.
        ElementError: it cannot be opened, or not by that device.
        ParameterError: there is no such parameter, or a queue was given without hwaccel="cuda".
        UnsupportedObjectError: the queue is not a stream.
    """
    return Video(FFmpegSource(url, **parameters), queue)
