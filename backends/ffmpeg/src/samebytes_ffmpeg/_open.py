# SPDX-License-Identifier: Apache-2.0
"""open(): the frames of a video in a plain loop, decoded as ffmpeg.source decodes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import samebytes
from samebytes import Frame
from samebytes.elements import FrameInfo

from ._elements._source import FFmpegSource

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Video", "open"]


class Video(Iterator[Frame]):
    """The frames of a video, one after another; a `with` block closes it.

    Attributes:
        info: format, size, memory and rate; None if only the first frame says.
        how: the way in which it is decoded, in words, where a device was asked for.
    """

    def __init__(self, source: FFmpegSource) -> None:
        self._source = source
        try:
            self.info: FrameInfo | None = source.negotiate(None)
        except BaseException:
            source.close()
            raise
        self.how = source.how()

    def __next__(self) -> Frame:
        native = self._source.read()
        if native is None:
            raise StopIteration
        return samebytes.frame(native)

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


def open(url: Path | str, **parameters: Any) -> Video:
    """Open a video, whose frames a loop then gets.

        with samebytes_ffmpeg.open("video.mp4", hwaccel="cuda") as video:
            for frame in video:
                luma = torch.from_dlpack(frame.map("cuda")[0])

    Args:
        url: a file, or what FFmpeg opens.
        parameters: those of `FFmpegSource`. With hwaccel="auto" it is decoded in software, as
                nobody says where the frames go: ask for the device.

    Returns:
        The video, which is iterated once and closed by a `with` block.

    Raises:
        ElementError: it cannot be opened, or not by that device.
        ParameterError: there is no such parameter.
    """
    return Video(FFmpegSource(url, **parameters))
