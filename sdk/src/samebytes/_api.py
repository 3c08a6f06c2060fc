# SPDX-License-Identifier: Apache-2.0
"""From the user's objects to tensors and frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np

from . import _exchange
from ._core.edges.context import Context
from ._core.memory.frame import Frame
from ._core.memory.meta import say
from ._core.memory.tensor import CpuTensor, Tensor
from ._cpu.context import CpuContext, wrap_array, wrap_exported
from ._cpu.frame import frame_of_arrays, given_parts
from ._secrets import shown
from .errors import LayoutError, UnsupportedObjectError
from .formats import ImageFormat

if TYPE_CHECKING:
    from fractions import Fraction

    from ._core.edges.context import AnyContext, Level, Target
    from .formats import AudioInfo

__all__ = ["context", "frame", "refresh", "tensor", "wrap"]

Wrap = Callable[[Any], Any]


class _Router:
    """Routing and the other parts built upon the core, under the names by which it calls them."""

    @staticmethod
    def derive(parent: Context, node: str | type[Context]) -> Context:
        from ._routing.contexts import derive  # deferred: needs the plugins

        return derive(parent, node)

    @staticmethod
    def compile_route(
        source: Context, level: Level, target: Target, access: str, copy: bool, item: Any = None
    ) -> Wrap:
        from ._routing.compiled import compile_route  # deferred: programs may only wrap

        return compile_route(source, level, target, access, copy, item)

    @staticmethod
    def forget_compiled() -> None:
        from ._routing.compiled import forget_compiled  # deferred: as above

        forget_compiled()

    @staticmethod
    def crop(frame: Frame, x: int, y: int, width: int, height: int, fit: bool) -> Frame:
        from ._cropping import crop_frame  # deferred: few programs crop, and it imports metadata

        return crop_frame(frame, x, y, width, height, fit)

    @staticmethod
    def convert(frame: Frame, *wanted: Any, **how: Any) -> Frame:
        from ._converting.converting import convert_frame  # deferred: few programs convert

        ROUTER.convert = convert_frame  # type: ignore[method-assign]  # found at once from now on
        return convert_frame(frame, *wanted, **how)

    @staticmethod
    def thumbnail(frame: Frame) -> bytes | None:
        from ._seen.picture import thumbnail  # deferred: notebooks alone ask for it

        return thumbnail(frame)

    @staticmethod
    def tensor(native: Any) -> Tensor:
        return tensor(native)


ROUTER = _Router()
Context.router = ROUTER

# Type of the native object -> how to wrap it. Filled as types are met.
_tensors: dict[type, Wrap] = {np.ndarray: wrap_array}
_frames: dict[type, Wrap] = {}
# How many are remembered: a program that makes classes all the time would fill it.
_MOST_TYPES = 256
# A protocol's DLPack device or attribute -> how its objects are wrapped. Filled as they are met.
_protocols: dict[int | str, Wrap] = {}


def wrap(native: Any) -> Tensor | Frame:
    """A tensor or a frame over any object that an installed plugin knows.

    The memory stays the user's; the result keeps the object alive.

    Args:
        native: a framework's tensor or frame, or an array.

    Raises:
        UnsupportedObjectError: no plugin knows the type, and it shares no bytes as an array does.
        MissingDependencyError: the plugin that knows it lacks a package.
    """
    known = _tensors.get(type(native)) or _frames.get(type(native)) or _find_wrap(native)[1]
    wrapped: Tensor | Frame = known(native)
    return wrapped


def tensor(native: Any) -> Tensor:
    """A tensor over an array, or over a framework's own tensor. As `wrap`, but never a frame.

    Args:
        native: a numpy array, an object with DLPack, an array interface or the buffer protocol, or
            a framework's tensor. The result keeps it alive, and close() never releases it.

    Raises:
        UnsupportedObjectError: it is a frame, or no plugin knows the type.
        LayoutError: a dtype or layout that no tensor can have.
    """
    try:
        make: Wrap | None = _tensors[type(native)]
    except KeyError:
        make = None
    if make is None:  # not above, where the KeyError would be shown with each error
        level, make = _find_wrap(native)
        if level != "tensor":
            raise UnsupportedObjectError(
                f"a {type(native).__name__} is a frame of several planes: use samebytes.frame()"
            )
    wrapped: Tensor = make(native)
    return wrapped


def frame(
    native: Any,
    *,
    format: str | ImageFormat | None = None,  # the field's word for it
    width: int | None = None,
    height: int | None = None,
    audio: AudioInfo | None = None,
    pts: int | None = None,
    time_base: Fraction | None = None,
    duration: Fraction | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Frame:
    """A frame over a framework's own frame, or over arrays in a given format.

    `pts`, `time_base`, `duration` and `metadata` take precedence over the values in the
    framework's frame, which is not changed.

    Args:
        native: for instance an av.VideoFrame; or one array that holds the whole image, its
            planes one after another; or a sequence of arrays or tensors
            in CPU memory, one for each plane.
        format: for arrays: the image format ("NV12", "yuv420p", "bgr24" ...).
        width, height: in pixels, for arrays; by default read from the array's shape.
        audio: for arrays of sound: the description of the block of samples that they hold.
        pts: presentation time, in units of `time_base`.
        time_base: seconds for each unit of `pts`: Fraction(1, 90000).
        duration: seconds for which it is shown or heard, a Fraction: `metadata["duration"]`.
        metadata: entries of `frame.metadata`, which go into the frame's own dict.

    Raises:
        UnsupportedObjectError: no plugin knows the type, or the format is missing.
        UnknownNameError: no such format.
        LayoutError: the arrays do not fit the format, or the arguments contradict each other.
        MetadataError: a time or an entry of the metadata is invalid.
    """
    if format is None and audio is None and width is None and height is None:
        # A known type takes no further call: every decoded frame is wrapped here.
        make = _frames.get(type(native)) or _find_frame(native)
        made: Frame = make(native)
    else:
        made = _described(native, format, width, height, audio)
    if not (pts is None and time_base is None and duration is None and metadata is None):
        say(made.meta, pts, time_base, duration, metadata)
    return made


def _described(
    native: Any,
    format: str | ImageFormat | None,
    width: int | None,
    height: int | None,
    audio: AudioInfo | None,
) -> Frame:
    """A frame over arrays, as the arguments describe it."""
    if audio is not None and format is not None:
        raise LayoutError("a frame is an image or sound: pass format= or audio=, not both")
    if format is None and not (width is None and height is None):
        raise LayoutError("width= and height= describe an image: pass its format= too")
    try:
        return frame_of_arrays(native, format, width, height, audio)
    except UnsupportedObjectError:
        parts = given_parts(native)
        if all(isinstance(part, Tensor | Frame) for part in parts):
            raise
    # Objects that a plugin knows name their memory, so the error can name a remedy.
    known = [part if isinstance(part, Tensor | Frame) else wrap(part) for part in parts]
    return frame_of_arrays(known, format, width, height, audio)


def _find_frame(native: Any) -> Wrap:
    """Return the function that wraps a framework's own frame.

    Raises:
        UnsupportedObjectError: `native` is not a frame; if it is an array, its format is missing.
    """
    _check_object(native)
    level, make = "", cast("Wrap", CpuTensor.wrap)
    if not isinstance(native, Sequence):
        level, make = _find_wrap(native)
    if level != "frame":
        for part in given_parts(native):
            if not isinstance(part, Tensor | Frame):
                wrap(part)  # raises if it is not an array
        raise UnsupportedObjectError(
            f"a {type(native).__name__} does not say what its image format is: pass format=, "
            'for instance samebytes.frame(array, format="BGR")'
        )
    return make


@overload
def context(name: Literal["cpu"]) -> CpuContext: ...


@overload
def context(name: type[AnyContext]) -> AnyContext: ...


@overload
def context(name: str) -> Context: ...


def context(name: str | type[Context]) -> Context:
    """The context of a memory type: "cpu", "openvino:GPU", "openvino:GPU.1" ...

    Args:
        name: the name of the memory type, or the class of its contexts, such as
            samebytes_openvino.OpenVINOContext, which gives type checkers the type of the result.

    Raises:
        UnsupportedObjectError: a class that is not that of any memory type's contexts.
        UnknownNameError: no plugin declares it; the message says what to install.
        AmbiguousTargetError: it has several devices; the message lists them.
    """
    from ._routing.contexts import context  # deferred: needs the plugins

    return context(name)


def refresh() -> None:
    """Look for plugins again, and forget every compiled route.

    Use it after installing a plugin into the running process. Objects that exist stay valid.
    """
    # Deferred: few programs do this.
    from ._converting import converting
    from ._plugins import discovery
    from ._routing import compiled, contexts

    discovery.forget()
    contexts.forget_recent()
    _frames.clear()
    _protocols.clear()
    for type_ in [t for t in _tensors if t is not np.ndarray]:
        del _tensors[type_]
    compiled.forget_compiled()
    converting.forget()


def _find_wrap(native: Any) -> tuple[str, Wrap]:
    """Look the type up by the names of its classes, nearest first, then try the protocols."""
    if isinstance(native, Frame):
        raise UnsupportedObjectError("this is a samebytes.Frame already: use it, or its map()")
    from ._plugins.discovery import tables  # deferred: arrays need no plugins
    from ._plugins.loading import load_class

    found = tables()
    for cls in type(native).__mro__:
        name = f"{cls.__module__}.{cls.__qualname__}"
        spec = found.natives.get(name)
        if spec is not None:
            base: type[Any] = Tensor if spec.level == "tensor" else Frame
            make: Any = load_class(spec.wraps, found.owner_of_native[name], base)
            (_tensors if spec.level == "tensor" else _frames)[type(native)] = make.wrap
            return spec.level, make.wrap
    # The name only says that protocols are to be tried: which of them works depends on the object.
    if len(_tensors) < _MOST_TYPES:
        _tensors[type(native)] = _wrap_undeclared
    return "tensor", _wrap_undeclared


def _check_object(native: Any) -> None:
    """Refuse a value that only stands for an object of a framework, such as the name of a file.

    Raises:
        UnsupportedObjectError: it is a name of a file, a number, True or False, or None.
    """
    if native is None:
        raise UnsupportedObjectError(
            "None is neither a frame nor an array: the call that returned it had none left"
        )
    if type(native) in (bool, int, float):  # numpy's are arrays of no dimension
        raise UnsupportedObjectError(
            f"{native} is neither a frame nor an array: pass one, or, in an element, return one"
        )
    if isinstance(native, str | PathLike):
        raise UnsupportedObjectError(
            f"{shown(str(native))} is a name, not a frame or an array: "
            'samebytes.elements.create("ffmpeg.source", name) reads a video, and av.open(name) of '
            "PyAV gives frames that can be wrapped"
        )


def _wrap_undeclared(native: Any) -> Tensor:
    if _protocols:
        try:
            make = _protocols[int(native.__dlpack_device__()[0])]
        except Exception:  # no DLPack, a broken one, or a device that was not met before
            make = _by_protocol(native)
    else:
        make = _by_protocol(native)
    return make(native)  # type: ignore[no-any-return]


def _by_protocol(native: Any) -> Wrap:
    """The function that wraps an object whose type nobody declared, by the protocol it offers."""
    from ._plugins.discovery import tables  # deferred: arrays need no plugins
    from ._plugins.loading import load_class

    found = tables()
    key: int | str | None = None
    try:
        key = int(native.__dlpack_device__()[0])
        if key == _exchange.DEVICE_CPU and not isinstance(native, np.ndarray):
            return wrap_exported
    except Exception:  # no DLPack, or a broken one: CpuTensor.wrap says what is wrong with it
        key = next((k for k in found.protocols if isinstance(k, str) and _has(native, k)), None)
    if key is None:
        _check_object(native)
    spec = None if key is None else found.protocols.get(key)
    if key is None or spec is None:
        if key == _exchange.DEVICE_CPU:
            _protocols[_exchange.DEVICE_CPU] = CpuTensor.wrap
        return CpuTensor.wrap
    make = _protocols.get(key)
    if make is None:
        make = _protocols[key] = load_class(spec.wraps, found.owner_of_protocol[key], Tensor).wrap
    return make


def _has(native: Any, attribute: str) -> bool:
    try:
        return hasattr(native, attribute)
    except Exception:  # it is there, and raises: its wrapper says why
        return True
