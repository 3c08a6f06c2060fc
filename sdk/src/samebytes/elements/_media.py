# SPDX-License-Identifier: Apache-2.0
"""The frames that elements take and give: patterns, and FrameInfo, which was agreed on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from .._core.edges.edge import Access, check_access
from .._core.memory.frame import Frame
from .._core.memory.info import TensorInfo
from ..errors import UnknownNameError
from ..formats import AudioInfo, ImageFormat, ImageInfo

__all__ = ["Audio", "FrameInfo", "Image", "Media", "Tensors", "patterns", "same"]

_MEDIA = {"Image": "image", "Audio": "audio", "Tensors": "tensors", "Media": ""}


@dataclass(frozen=True)
class FrameInfo:
    """The frames on one link of a pipeline. Attributes that are None become known with a frame.

    Attributes:
        media: "image", "audio" or "tensors".
        memory: the node where they are: "cpu", "ffmpeg", "openvino:GPU" ...
        format: the name of the pixel format, of images.
        width, height: in pixels, of images.
        audio: samples, channels and rate, of sound.
        tensors: the layout of each tensor.
        rate: frames a second, if that is constant.
        pool: how many frames of the source can be in use at a time; None without such a limit.
    """

    media: str
    memory: str
    format: str | None = None
    width: int | None = None
    height: int | None = None
    audio: AudioInfo | None = None
    tensors: tuple[TensorInfo, ...] | None = None
    rate: Fraction | None = None
    pool: int | None = None

    @classmethod
    def of(cls, frame: Frame, like: FrameInfo | None = None) -> FrameInfo:
        """The description of a frame; rate and pool, which no frame has, are those of `like`.

        Args:
            frame: any frame.
            like: the description so far, or None.
        """
        info, memory = frame.meta.info, frame.context.node
        rate, pool = (None, None) if like is None else (like.rate, like.pool)
        if isinstance(info, ImageInfo):
            name, width, height = info.format.name, info.width, info.height
            return cls("image", memory, name, width, height, rate=rate, pool=pool)
        if isinstance(info, AudioInfo):
            return cls("audio", memory, audio=info, rate=rate, pool=pool)
        infos = tuple(plane.info for plane in frame.planes)
        return cls("tensors", memory, tensors=infos, rate=rate, pool=pool)

    def __str__(self) -> str:
        words = [self.media]
        if self.format is not None:
            words.append(self.format)
        if self.width is not None and self.height is not None:
            words.append(f"{self.width}x{self.height}")
        if self.audio is not None:
            words.append(str(self.audio))
        words += [str(tensor) for tensor in self.tensors or ()]
        text = f"{' '.join(words)} in {self.memory}"
        return text if self.rate is None else f"{text}, {float(self.rate):g} fps"


@dataclass(frozen=True)
class Media:
    """Frames of any kind, wherever they are: see `Image`, `Audio` and `Tensors`.

    Args:
        memory: the memory type that the frames are to be in, as `Frame.map` takes it; several, best
            first: "cpu|opencl". Names in braces are parameters of the element:
            "openvino:{device}". Empty: as they come.
        access: the element's access to the bytes: "r", "w" or "rw".
    """

    memory: str = ""
    access: Access = "r"

    def __post_init__(self) -> None:
        check_access(self.access)

    @property
    def media(self) -> str:
        """ "image", "audio", "tensors", or "" for any."""
        return _MEDIA.get(type(self).__name__, "")

    @property
    def memories(self) -> tuple[str, ...]:
        """The memory types that the frames may be in, best first; empty if any will do."""
        return tuple(filter(None, self.memory.split("|")))

    def with_parameters(self, parameters: Mapping[str, Any]) -> Media:
        """The same pattern with the values of an element's parameters in place of their names.

        Args:
            parameters: the values, by name.
        """
        return replace(self, memory=_filled(self.memory, parameters)) if self.memory else self

    def why_not(self, info: FrameInfo) -> str | None:
        """The reason why frames do not match the pattern, whatever their memory; None if they do.

        Args:
            info: the frames, as far as they are known.
        """
        if self.media and info.media != self.media:
            return f"it is {info.media}, not {self.media}"
        return None

    def offers(self, like: FrameInfo | None) -> list[FrameInfo]:
        """Every kind of frame that the pattern can mean; attributes left open are as in `like`.

        Args:
            like: the frames that come, or None if they are not known.
        """
        memories = self.memories or (() if like is None else (like.memory,))
        if like is not None and (not self.media or self.media == like.media):
            return [replace(like, memory=memory) for memory in memories]
        rate = None if like is None else like.rate
        return [FrameInfo(self.media or "image", memory, rate=rate) for memory in memories]

    def __str__(self) -> str:
        words = [self.media or "any frame", *self._words()]
        if self.memory:
            words.append(f"in {' or '.join(self.memories)}")
        if self.access != "r":
            words.append(f'(access "{self.access}")')
        return " ".join(words)

    def _words(self) -> list[str]:
        return []


@dataclass(frozen=True)
class _Image(Media):
    format: str = ""
    width: int | None = None
    height: int | None = None


class Image(_Image):
    """Images.

    Args:
        format: pixel formats, best first: "NV12|I420". Empty: any.
        memory, access: as for `Media`.
        width, height: in pixels; None for any.

    Raises:
        UnknownNameError: there is no such pixel format.
    """

    def __init__(
        self,
        format: str = "",  # the field's word for it
        memory: str = "",
        access: Access = "r",
        width: int | None = None,
        height: int | None = None,
    ) -> None:
        super().__init__(memory, access, format, width, height)
        _ = self.formats

    @property
    def formats(self) -> tuple[str, ...]:
        """The names of the formats; empty for any."""
        return tuple(ImageFormat.of(name).name for name in self.format.split("|") if name)

    def with_parameters(self, parameters: Mapping[str, Any]) -> Image:
        """The same with the values of an element's parameters in place of their names."""
        memory = _filled(self.memory, parameters)
        return Image(self.format, memory, self.access, self.width, self.height)

    def why_not(self, info: FrameInfo) -> str | None:
        """The reason why these images do not match the pattern; None if they do."""
        if (reason := super().why_not(info)) is not None:
            return reason
        if self.formats and info.format is not None and info.format not in self.formats:
            return f"its format is {info.format}, not {' or '.join(self.formats)}"
        for name in ("width", "height"):
            wanted, found = getattr(self, name), getattr(info, name)
            if wanted is not None and found is not None and found != wanted:
                return f"its {name} is {found}, not {wanted}"
        return None

    def offers(self, like: FrameInfo | None) -> list[FrameInfo]:
        """Every kind of image that the pattern can mean; attributes left open are as in `like`."""
        found = []
        for info in super().offers(like):
            formats = self.formats or (info.format,)
            if like is not None and info.format in formats:
                formats = (info.format,)  # it is that already
            width, height = self.width or info.width, self.height or info.height
            found += [replace(info, format=name, width=width, height=height) for name in formats]
        return found

    def _words(self) -> list[str]:
        size = f"{self.width or '?'}x{self.height or '?'}" if self.width or self.height else ""
        return [word for word in ("|".join(self.formats), size) if word]


class Audio(Media):
    """Sound; arguments as for `Media`."""


class Tensors(Media):
    """Plain lists of tensors; arguments as for `Media`."""


@dataclass(frozen=True)
class _Same:
    def __str__(self) -> str:
        return "the frame that it takes"


def same() -> _Same:
    """The value of `gives` for an element that passes on the frames that it takes.

    The frame goes on as it came: the next element maps the memory of the frame that came, not this
    element's mapping. Metadata and regions that were added are there, since all mappings share
    them.
    """
    return _Same()


def patterns(declared: Any, what: str) -> tuple[Media, ...]:
    """`takes` or `gives` as a tuple.

    Raises:
        UnknownNameError: it is not a pattern.
    """
    found = declared if isinstance(declared, tuple | list) else (declared,)
    for one in found:
        if not isinstance(one, Media):
            known = ("Image", "Audio", "Tensors", "Media")
            raise UnknownNameError(f"pattern of frames in {what}", repr(one), known)
    return tuple(found)


def _filled(memory: str, parameters: Mapping[str, Any]) -> str:
    """The memory types that a pattern names, with the values of parameters.

    Raises:
        UnknownNameError: it names a parameter that the element does not have.
    """
    try:
        return memory.format_map(parameters)
    except KeyError as error:
        raise UnknownNameError(
            f"parameter in memory={memory!r}", str(error.args[0]), parameters
        ) from None
