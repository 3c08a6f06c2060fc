# SPDX-License-Identifier: Apache-2.0
"""convert: frames of another format and size, by whatever converter is installed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from .._converting.choosing import Way, choose
from .._converting.converting import convert_frame
from .._converting.memory import new_frame
from .._converting.picture import PictureInfo, picture_of, wanted
from .._core.memory.frame import Frame
from ..errors import SamebytesError, UnknownNameError, UnsupportedObjectError
from ..formats import ImageFormat, ImageInfo, colors_of
from ._conversion import Range
from ._element import Transform
from ._media import FrameInfo, Image
from ._parameters import Doc
from ._pool import FramePool

__all__ = ["Convert"]


class Convert(Transform):
    """Converts pictures to another format and size, in memory of the CPU, as `Frame.convert` does.

    Times and metadata go along; regions are scaled. The new frames come from a pool, and are used
    again when nobody holds them. A frame that is such a picture already goes on as it came.
    """

    name = "convert"
    takes = Image()
    gives = Image()
    concurrent = True

    format: Annotated[str, Doc('of the new frames, in any spelling: "RGB24"')]
    width: Annotated[int | None, Range(1, 32768), Doc("in pixels; None for the frame's")] = None
    height: Annotated[int | None, Range(1, 32768), Doc("in pixels; None for the frame's")] = None
    method: Annotated[
        Literal["linear", "area", "nearest", "cubic"], Doc("area is best for much smaller ones")
    ] = "linear"
    color_range: Annotated[
        Literal["limited", "full"] | None, Doc("of new YUV and gray; None: as Frame.convert says")
    ] = None
    color_matrix: Annotated[str | None, Doc("of new YUV; None: as Frame.convert says")] = None
    by: Annotated[str | None, Doc("the plugin that converts; None for the cheapest one")] = None
    copy: Annotated[bool, Doc("copy what no converter reads where it lies; it is counted")] = False
    pool: Annotated[int, Range(1), Doc("how many new frames of a layout there are at most")] = 32

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self._pools: dict[tuple[ImageInfo, int], FramePool] = {}

    @property
    def may_copy(self) -> bool:  # type: ignore[override]  # a property, as Element says
        """True if its user allowed copies."""
        return self.copy

    def maps_to(self, given: FrameInfo) -> str:
        """The memory type where the converter reads frames like these."""
        with suppress(SamebytesError):  # negotiate() raises with the reason
            way = self._way(given)
            return "" if way is None else way.spec.node
        return ""

    def negotiate(self, given: FrameInfo) -> FrameInfo:
        """The description of the converted frames, which are in memory of the CPU.

        Raises:
            ValueError: no installed plugin converts them; the text gives the reason.
        """
        try:
            way = self._way(given)
            name = ImageFormat.of(self.format).name
        except SamebytesError as error:
            raise ValueError(str(error)) from error
        width, height = self.width or given.width, self.height or given.height
        made = replace(given, format=name, width=width, height=height)
        if way is None and made == given and self._keeps_colours:
            return given
        return replace(made, memory="cpu", pool=None)

    def converts(self, given: FrameInfo, frame: Frame[Any] | None) -> str:
        """The picture that is made, and the converter that makes it, in words."""
        with suppress(SamebytesError):
            way = self._way(given, frame)
            if way is None:
                return ""
            return f"to {way.target}, by {way.plugin} ({way.spec.summary}), into memory of a pool"
        return f"to {self.format}"

    def process(self, frame: Frame[Any]) -> Frame[Any]:
        """The new picture."""
        if self._is_that_already(frame):
            # Other elements may get a frame that is lent to this one for reading only.
            lent = frame.parent is not None and frame.readonly
            return frame.map(frame.context, "r") if lent else frame
        return convert_frame(
            frame, self.format, self.width, self.height, method=self.method,
            color_range=self.color_range, color_matrix=self.color_matrix, by=self.by,
            copy=self.copy, take=self._take,
        )  # fmt: skip

    def close(self) -> None:
        """Drop the pools."""
        super().close()
        self._pools.clear()

    def _take(self, image: ImageInfo, row_padding: int) -> Frame[Any]:
        key = image, row_padding
        pool = self._pools.get(key)
        if pool is None:  # in one step, and without a lock, which would not be pickled
            made = FramePool(partial(new_frame, *key), maximum=self.pool, name=self.name)
            pool = self._pools.setdefault(key, made)
        return pool.acquire()

    @property
    def _keeps_colours(self) -> bool:
        """True if the colours that a frame declares do not decide whether it is converted."""
        return self.color_range is None and self.color_matrix is None

    def _is_that_already(self, frame: Frame[Any]) -> bool:
        if not self._keeps_colours:
            source = picture_of(frame)
            return source == self._wanted(source)
        info = frame.image
        size = self.width or info.width, self.height or info.height
        return size == (info.width, info.height) and ImageFormat.of(self.format) == info.format

    def _wanted(self, source: PictureInfo) -> PictureInfo:
        return wanted(
            source, self.format, self.width, self.height, self.color_range, self.color_matrix
        )

    def _way(self, given: FrameInfo, frame: Frame[Any] | None = None) -> Way | None:
        """The way that frames are converted; None if nothing is to change, or it is not known yet.

        Before the first frame, its colours are assumed to be the usual ones.

        Raises:
            SamebytesError: there is no way.
        """
        if frame is not None:
            source = picture_of(frame)
        elif given.format is None or given.width is None or given.height is None:
            return None
        else:
            try:
                image = ImageInfo.of(given.format, given.width, given.height)
            except UnknownNameError:  # a palette of FFmpeg's: its frames show who reads it
                return None
            source = PictureInfo(image, *colors_of(image.format, {}))
        target = self._wanted(source)
        if target == source:
            return None
        origin = self.pipeline_context(given.memory) if frame is None else frame
        try:
            return choose(origin, source, target, self.method, self.by, copy=self.copy)
        except UnsupportedObjectError:
            if frame is None and target.image == source.image:
                return None  # its frames may say that they are of these colours already
            raise
